// The one entry point of every Boost.Test program.
#define BOOST_TEST_MODULE tickertape
#include <boost/test/unit_test.hpp>
