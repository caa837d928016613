tickertape_test(unit_runtime
  SOURCES
    runtime/asio_scheduler_test.cpp
    runtime/compute_pool_test.cpp
    runtime/mailbox_test.cpp
    runtime/poster_test.cpp
    runtime/scope_test.cpp
    runtime/sim_scheduler_test.cpp
    runtime/task_test.cpp
  LIBS tickertape_runtime
  LABELS unit threads coroutines asan)
