tickertape_test(actors_core
  SOURCES actors/kv_pool_test.cpp actors/planner_test.cpp actors/intake_test.cpp
          actors/request_actor_test.cpp actors/stop_matcher_test.cpp actors/choices_test.cpp
          actors/simulation_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime
  LABELS unit coroutines asan)
tickertape_test(actors_engine
  SOURCES actors/engine_test.cpp actors/token_sink_test.cpp actors/engine_lifetime_test.cpp actors/long_text_test.cpp
          actors/engine_choices_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime
  LABELS unit threads coroutines)
