// RecordingModel: a model whose backends note every pass.
#include "tools/tickertape/recording_model.hpp"

#include <tickertape/pass_recorder.hpp>

namespace tickertape::program {
namespace {

class RecordingModel final : public Model {
 public:
  RecordingModel(std::shared_ptr<const Model> model, std::shared_ptr<Recording> recording)
      : model_(std::move(model)), recording_(std::move(recording)) {}
  [[nodiscard]] const ModelInfo& info() const noexcept override { return model_->info(); }
  [[nodiscard]] std::shared_ptr<const Tokenizer> tokenizer() const override {
    return model_->tokenizer();
  }
  [[nodiscard]] std::shared_ptr<const ChatTemplate> chat_template() const override {
    return model_->chat_template();
  }
  [[nodiscard]] std::span<const ModelTensor> tensors() const noexcept override {
    return model_->tensors();
  }
  [[nodiscard]] MemoryNeed memory_need(const BackendOptions& options) const override {
    return model_->memory_need(options);
  }
  [[nodiscard]] std::unique_ptr<Backend> make_backend(const BackendOptions& options,
                                                      BackendHost& host,
                                                      Parallel& parallel) const override {
    PassRecorder::Functions functions;
    functions.request_of = [recording = recording_](const OpenedSlot& opened) {
      const auto found = recording->request_of_seed.find(opened.seed);
      return found == recording->request_of_seed.end() ? 0 : found->second;
    };
    functions.done = [recording = recording_](const TickRecord& record,
                                              std::vector<TickRow>& rows) {
      recording->add(record, rows);
    };
    return std::make_unique<PassRecorder>(model_->make_backend(options, host, parallel), host,
                                          std::move(functions));
  }

 private:
  std::shared_ptr<const Model> model_;
  std::shared_ptr<Recording> recording_;
};

}  // namespace

void Recording::add(const TickRecord& record, const std::vector<TickRow>& of_tick) {
  const std::int64_t end_ns = record.start_ns + record.duration_ns - zero_ns;
  TickRecord& added = ticks.emplace_back(record);
  added.start_ns -= zero_ns;
  added.first_row = rows.size();
  for (const TickRow& row : of_tick) {
    if (row.samples) sampled_ns[row.request].push_back(end_ns);
  }
  rows.insert(rows.end(), of_tick.begin(), of_tick.end());
}

std::shared_ptr<const Model> make_recording_model(std::shared_ptr<const Model> model,
                                                  std::shared_ptr<Recording> recording) {
  return std::make_shared<RecordingModel>(std::move(model), std::move(recording));
}

}  // namespace tickertape::program
