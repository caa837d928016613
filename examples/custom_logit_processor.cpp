// Your own hand on the logits: an answer without one letter, beside one that has all of them.
//
// usage: custom_logit_processor MODEL
#include <boost/asio.hpp>
#include <exception>
#include <iostream>
#include <limits>
#include <memory>
#include <tickertape/engine.hpp>
#include <utility>
#include <vector>

namespace asio = boost::asio;

// Forbids every token whose text has the letter. It keeps no state between calls, so it may be
// called for several choices at once and its answers are reproducible.
class WithoutLetter final : public tickertape::LogitProcessor {
 public:
  WithoutLetter(const tickertape::Tokenizer& tokenizer, char letter) {
    for (std::size_t id = 0; id < tokenizer.vocab_size(); ++id) {
      const auto token = static_cast<tickertape::TokenId>(id);
      if (tokenizer.bytes(token).find(letter) != std::string_view::npos &&
          !tokenizer.is_control(token)) {
        forbidden_.push_back(id);
      }
    }
  }

  void process(const tickertape::LogitContext&, std::span<float> logits) const override {
    for (const std::size_t id : forbidden_) logits[id] = -std::numeric_limits<float>::infinity();
  }

 private:
  std::vector<std::size_t> forbidden_;
};

// The processor counts for its own request only; both run in the same batch.
asio::awaitable<void> answer(tickertape::Engine& engine, const char* title,
                             std::shared_ptr<const tickertape::LogitProcessor> processor) {
  tickertape::Request request;
  request.prompt = "Once upon a time there was";
  request.max_tokens = 40;
  request.sampling.temperature = 0;
  request.logit_processor = std::move(processor);
  auto stream = co_await engine.async_submit(std::move(request), asio::use_awaitable);
  std::string text;
  while (auto token = co_await stream.async_next(asio::use_awaitable)) text += token->text;
  std::cout << title << text << '\n';
}

int main(int argc, char** argv) {
  const auto model = tickertape::load_model(argc > 1 ? argv[1] : "model.gguf");
  tickertape::Engine engine(model);
  const auto without_e = std::make_shared<WithoutLetter>(*model->tokenizer(), 'e');
  const auto rethrow = [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  };
  asio::io_context io(1);
  asio::co_spawn(io, answer(engine, "free:", nullptr), rethrow);
  asio::co_spawn(io, answer(engine, "without e:", without_e), rethrow);
  io.run();
}
