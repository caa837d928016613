tickertape_test(actors_core
  SOURCES actors/kv_pool_test.cpp actors/kv_pool_names_test.cpp actors/planner_test.cpp actors/intake_test.cpp
          actors/request_actor_test.cpp actors/stop_matcher_test.cpp actors/choices_test.cpp
          actors/simulation_test.cpp actors/batching_test.cpp
          actors/memory_policy_test.cpp actors/make_way_test.cpp actors/recording_test.cpp
          actors/overlap_test.cpp actors/length_profile_file_test.cpp actors/windows_test.cpp
          actors/bounded_wait_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime
  LABELS unit coroutines asan)
tickertape_test(actors_engine
  SOURCES actors/engine_test.cpp actors/token_sink_test.cpp actors/engine_lifetime_test.cpp actors/long_text_test.cpp
          actors/engine_choices_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime
  LABELS unit threads coroutines asan)
# The seed of the properties is fixed here, so that a run says the same each time; by hand, each run
# of the program takes another.
tickertape_test(actors_values
  SOURCES actors/page_names_test.cpp actors/waiting_line_test.cpp actors/length_profile_test.cpp
          actors/pass_model_test.cpp actors/admission_test.cpp actors/order_test.cpp
  LIBS tickertape_values rapidcheck
  LABELS unit)
set_tests_properties(actors_values PROPERTIES ENVIRONMENT "RC_PARAMS=seed=2024 max_success=150")
