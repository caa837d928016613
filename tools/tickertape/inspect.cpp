// inspect: what a model file holds, and what running it takes.
#include <fmt/core.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tools/tickertape/answer_json.hpp"
#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

using Json = nlohmann::ordered_json;

struct InspectFlags {
  EngineFlags engine;
  bool tensors = false;
  bool json = false;
};

struct TypeSum {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

/// As make_backend() would get them from an engine with these options.
BackendOptions backend_options(const EngineOptions& options) {
  BackendOptions backend;
  backend.page_size = options.page_size;
  backend.num_kv_pages = options.num_kv_pages;
  backend.kv_cache_memory = options.kv_cache_memory;
  backend.kv_cache_type = options.kv_cache_type;
  backend.max_num_seqs = options.max_num_seqs;
  backend.max_num_batched_tokens = options.max_num_batched_tokens.value_or(
      std::max(512U, options.max_num_seqs + options.page_size));
  backend.cpu_isa = options.cpu_isa;
  return backend;
}

std::map<std::string, TypeSum> sum_types(const Model& model) {
  std::map<std::string, TypeSum> types;
  for (const ModelTensor& tensor : model.tensors()) {
    TypeSum& sum = types[tensor.type];
    ++sum.count;
    sum.bytes += tensor.bytes;
  }
  return types;
}

Json describe(const Model& model, const MemoryNeed& need, std::uint32_t page_size,
              bool with_tensors) {
  const ModelInfo& info = model.info();
  const auto tokenizer = model.tokenizer();
  Json types = Json::object();
  for (const auto& [type, sum] : sum_types(model)) {
    types[type] = Json{{"tensors", sum.count}, {"bytes", sum.bytes}};
  }
  Json json{{"name", info.name},
            {"architecture", info.architecture},
            {"max_model_len", info.max_model_len},
            {"num_layers", info.num_layers},
            {"embedding_size", info.embedding_size},
            {"num_heads", info.num_heads},
            {"num_kv_heads", info.num_kv_heads},
            {"head_size", info.head_size},
            {"vocab_size", info.vocab_size},
            {"num_tokens", tokenizer ? tokenizer->vocab_size() : 0},
            {"chat_template", model.chat_template() != nullptr},
            {"types", std::move(types)},
            {"weight_bytes_in_file", info.weight_bytes},
            {"memory",
             {{"weights", need.weight_bytes},
              {"kv_pool", need.kv_bytes},
              {"scratch", need.scratch_bytes},
              {"total", need.total_bytes()}}},
            {"kv_pool",
             {{"pages", need.num_pages},
              {"page_size", page_size},
              {"bytes_per_page", need.bytes_per_page},
              {"tokens", need.num_pages * page_size}}}};
  if (with_tensors) {
    Json tensors = Json::array();
    for (const ModelTensor& tensor : model.tensors()) {
      tensors.push_back(Json{{"name", tensor.name},
                             {"type", tensor.type},
                             {"shape", tensor.shape},
                             {"bytes", tensor.bytes}});
    }
    json["tensors"] = std::move(tensors);
  }
  return json;
}

double mebibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

std::string shape_text(const ModelTensor& tensor) {
  std::string text;
  for (const std::uint64_t size : tensor.shape)
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

void print(const Model& model, const MemoryNeed& need, std::uint32_t page_size, bool with_tensors) {
  const ModelInfo& info = model.info();
  fmt::print("{}: {}, {} layers of {}, {} heads of {}, {} of them with keys and values\n",
             info.name, info.architecture, info.num_layers, info.embedding_size, info.num_heads,
             info.head_size, info.num_kv_heads);
  const auto tokenizer = model.tokenizer();
  fmt::print("context {} tokens; {} logits, {} tokens; {} chat template\n", info.max_model_len,
             info.vocab_size, tokenizer ? tokenizer->vocab_size() : 0,
             model.chat_template() ? "a" : "no");
  for (const auto& [type, sum] : sum_types(model)) {
    fmt::print("  {:<6} {:>5} tensors {:>10.1f} MiB\n", type, sum.count, mebibytes(sum.bytes));
  }
  fmt::print("memory {:.1f} MiB: weights {:.1f}, KV pool {:.1f}, scratch {:.1f}\n",
             mebibytes(need.total_bytes()), mebibytes(need.weight_bytes), mebibytes(need.kv_bytes),
             mebibytes(need.scratch_bytes));
  fmt::print("KV pool {} pages of {} tokens, {} bytes each: {} tokens\n", need.num_pages, page_size,
             need.bytes_per_page, need.num_pages * page_size);
  if (!with_tensors) return;
  for (const ModelTensor& tensor : model.tensors()) {
    fmt::print("{:<32} {:<6} {:<16} {} bytes\n", tensor.name, tensor.type, shape_text(tensor),
               tensor.bytes);
  }
}

int inspect(const InspectFlags& flags) {
  const auto model = open_model(flags.engine);
  const EngineOptions& options = flags.engine.options;
  const MemoryNeed need = model->memory_need(backend_options(options));
  if (flags.json) {
    fmt::print("{}\n", one_line(describe(*model, need, options.page_size, flags.tensors)));
  } else {
    print(*model, need, options.page_size, flags.tensors);
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& program, Action& action) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App& command =
      *program.add_subcommand("inspect", "What a model file holds, and the memory to run it");
  add_engine_flags(command, flags->engine);
  add_switch(command, "--tensors", flags->tensors, "List every tensor");
  add_switch(command, "--json", flags->json, "Print one object");
  command.callback([flags, &action] {
    check_engine_flags(flags->engine);
    action = [flags] { return inspect(*flags); };
  });
}

}  // namespace tickertape::program
