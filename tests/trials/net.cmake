# Trials over a real socket, on the scripted model and the paged fake.
foreach(trial a06 a10 a16 b01 b02 b04 b12 c03 d14 g02 g05)
  # Disconnects and churn also run under the sanitizers.
  set(labels trial)
  if(trial MATCHES "b02|g02")
    list(APPEND labels threads)
  endif()
  tickertape_test(trial_${trial}_net
    SOURCES ${trial}_net_test.cpp LIBS tickertape_test_net LABELS ${labels})
endforeach()
