# Each step must succeed; the last runs the program.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK}/prefix ${WORK}/build)
must(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK}/prefix)
must(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G Ninja
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
must(${CMAKE_COMMAND} --build ${WORK}/build)
must(${WORK}/build/consumer)
