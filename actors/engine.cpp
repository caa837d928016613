// Engine: continuous batching inside your Asio program.
#include <tickertape/engine.hpp>

#include <utility>

#include "actors/engine_core.hpp"
#include "actors/engine_settings.hpp"
#include "actors/long_submit.hpp"
#include "runtime/cpu_count.hpp"
#include "runtime/entropy.hpp"

namespace tickertape {
namespace {

constexpr std::int64_t kAliveLimitNs = 5'000'000'000;  // Health: design section 6.

unsigned compute_threads(const EngineOptions& options) {
  return options.threads > 0 ? options.threads : runtime::default_compute_threads();
}

}  // namespace

namespace detail {

EngineCore::EngineCore(std::shared_ptr<const Model> model, EngineOptions options)
    : model_(std::move(model)),
      options_(actors::resolve(std::move(options))),
      pool_(runtime::process_compute_pool(compute_threads(options_), options_.compute_nice)),
      thread_(options_.compute_nice),
      port_(std::make_shared<actors::LanePort>()),
      text_thread_(options_.compute_nice) {
  host_.emplace(thread_.scheduler());
  backend_ = model_->make_backend(actors::backend_options(options_), *host_, *pool_);
  const BackendInfo& backend = backend_->info();
  const std::uint32_t max_model_len =
      actors::resolve_max_model_len(options_, model_->info(), backend);
  options_.max_model_len = max_model_len;
  const auto tokenizer = model_->tokenizer();
  actors::LaneOptions lane = actors::lane_options(options_, backend, tokenizer.get());
  lane.name_key = runtime::random_seed();
  lane_.emplace(std::move(lane), *host_, *backend_, port_);
  intake_.emplace(
      model_, actors::intake_options(options_, backend, max_model_len, tokenizer.get()), port_,
      [this] { return host_->now(); }, [] { return runtime::random_seed(); });
  thread_.start(lane_->run());
}

EngineCore::~EngineCore() {
  intake_->drain();
  lane_->request_stop();
  thread_.join();
}

void EngineCore::stop() {
  intake_->drain();
  lane_->request_stop();
}

TokenStream EngineCore::submit(const boost::asio::any_io_executor& executor, Request&& request) {
  std::shared_ptr<actors::Outbox> outbox;
  std::optional<ErrorInfo> refusal;
  if (executor) {
    outbox = outboxes_.find_or_make(executor);
  } else {
    refusal =
        ErrorInfo{Errc::no_executor, "the handler has no executor, and the engine none", {}, 0};
  }
  actors::Stream::ExecutorOf executor_of;
  if (outbox) executor_of = [outbox] { return actors::executor_of(outbox); };
  return TokenStream(intake_->submit(std::move(request), std::move(outbox), std::move(executor_of),
                                     std::move(refusal), {intake_->now()}));
}

std::shared_ptr<AsyncCall> EngineCore::prepare_long_submit(
    const boost::asio::any_io_executor& executor, Request& request) {
  if (!executor || !actors::Preparer::takes_long(request)) return nullptr;
  // What can be refused at once is refused at once, by submit().
  if (intake_->preparer().check(request) || intake_->check_queue(request.n, 0)) return nullptr;
  return std::make_shared<actors::LongSubmit>(std::move(request), *intake_, port_, text_thread_,
                                              outboxes_.find_or_make(executor));
}

std::optional<ErrorInfo> EngineCore::check(const Request& request) const {
  return intake_->check(request);
}

EngineStats EngineCore::stats() const {
  EngineStats stats = lane_->stats();
  stats.max_model_len = *options_.max_model_len;
  stats.lane_alive = host_->alive(kAliveLimitNs);
  stats.draining = intake_->draining();
  return stats;
}

}  // namespace detail

Engine::Engine(std::shared_ptr<const Model> model, EngineOptions options)
    : core_(std::make_unique<detail::EngineCore>(std::move(model), std::move(options))) {}
Engine::~Engine() = default;

TokenStream Engine::submit(const boost::asio::any_io_executor& executor, Request request) {
  return core_->submit(executor ? executor : default_executor(*core_), std::move(request));
}

TokenStream Engine::submit_to(detail::EngineCore& core,
                              const boost::asio::any_io_executor& executor, Request&& request) {
  return core.submit(executor, std::move(request));
}

std::shared_ptr<detail::AsyncCall> Engine::prepare_long_submit(
    detail::EngineCore& core, const boost::asio::any_io_executor& executor, Request& request) {
  return core.prepare_long_submit(executor, request);
}

boost::asio::any_io_executor Engine::default_executor(const detail::EngineCore& core) {
  return core.options().executor;
}

std::optional<ErrorInfo> Engine::check(const Request& request) const {
  return core_->check(request);
}
EngineStats Engine::stats() const {
  return core_->stats();
}
const Model& Engine::model() const noexcept {
  return core_->model();
}
const EngineOptions& Engine::options() const noexcept {
  return core_->options();
}
const BackendInfo& Engine::backend_info() const noexcept {
  return core_->backend_info();
}
void Engine::drain() {
  core_->drain();
}
void Engine::stop() {
  core_->stop();
}

}  // namespace tickertape
