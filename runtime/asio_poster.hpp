// make_asio_poster: a Poster for an Asio executor.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "runtime/poster.hpp"

namespace tickertape::runtime {

/// A poster for any executor (io_context, thread_pool, strands of them, ...). The end of its
/// execution context is seen through a service in that context.
/// REQUIRES: the context is not being destroyed during this call.
[[nodiscard]] std::shared_ptr<Poster> make_asio_poster(boost::asio::any_io_executor executor);

}  // namespace tickertape::runtime
