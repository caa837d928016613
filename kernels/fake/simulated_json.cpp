// Devices and model shapes that stand in JSON files.
#include "kernels/fake/simulated_json.hpp"

#include <simdjson.h>

#include <limits>
#include <set>
#include <tickertape/errors.hpp>

namespace tickertape::kernels::fake {
namespace {

using simdjson::dom::element;

/// An object of a file; each member is asked for once, and what nobody asked for is an error.
class Members {
 public:
  explicit Members(const std::string& path) : path_(path) {
    simdjson::padded_string json;
    if (const auto error = simdjson::padded_string::load(path).get(json);
        error != simdjson::SUCCESS) {
      fail("cannot be read");
    }
    if (const auto error = parser_.parse(json).get(root_); error != simdjson::SUCCESS) {
      fail(std::string("is not JSON: ") + simdjson::error_message(error));
    }
    if (!root_.is_object()) fail("is not a JSON object");
  }

  void text(const char* name, std::string& target) {
    element value;
    if (!find(name, value, true)) return;
    std::string_view got;
    if (value.get(got) != simdjson::SUCCESS) fail(std::string(name) + " must be a string");
    target = std::string(got);
  }

  void truth(const char* name, bool& target) {
    element value;
    if (find(name, value, true) && value.get(target) != simdjson::SUCCESS) {
      fail(std::string(name) + " must be true or false");
    }
  }

  /// Must be there unless `optional`; at least 1, unless optional.
  template <class Number>
  void number(const char* name, Number& target, bool optional = false) {
    constexpr double kMost = 1e18;
    element value;
    if (!find(name, value, optional)) return;
    double got = 0;
    const double most = std::min(kMost, static_cast<double>(std::numeric_limits<Number>::max()));
    if (value.get(got) != simdjson::SUCCESS || !(got >= (optional ? 0 : 1) && got <= most)) {
      fail(std::string(name) + " must be a number from " + (optional ? "0" : "1") +
           " on, in range");
    }
    target = static_cast<Number>(got);
  }

  void end() {
    for (const auto [key, value] : simdjson::dom::object(root_)) {
      static_cast<void>(value);
      if (known_.count(std::string(key)) == 0) fail(std::string(key) + " is not known");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorInfo{Errc::invalid_request, path_ + ": " + what, {}, 0});
  }
  [[nodiscard]] bool find(const char* name, element& value, bool optional) {
    known_.insert(name);
    if (root_[name].get(value) == simdjson::SUCCESS) return true;
    if (!optional) fail(std::string(name) + " is missing");
    return false;
  }

  std::string path_;
  simdjson::dom::parser parser_;
  element root_;
  std::set<std::string> known_;
};

}  // namespace

SimulatedDevice load_device(const std::string& path) {
  Members members(path);
  SimulatedDevice device;
  members.text("name", device.name);
  members.number("bytes_per_s", device.bytes_per_s);
  members.number("flops_per_s", device.flops_per_s);
  members.number("link_bytes_per_s", device.link_bytes_per_s);
  members.number("memory_bytes", device.memory_bytes);
  members.number("pass_ns", device.pass_ns, true);
  members.number("layer_ns", device.layer_ns, true);
  members.number("bytes_percent", device.bytes_percent, true);
  members.number("flops_percent", device.flops_percent, true);
  members.end();
  return device;
}

ModelShape load_shape(const std::string& path) {
  Members members(path);
  ModelShape shape;
  members.text("name", shape.name);
  members.number("num_layers", shape.num_layers);
  members.number("hidden_size", shape.hidden_size);
  members.number("num_heads", shape.num_heads);
  members.number("num_kv_heads", shape.num_kv_heads);
  members.number("head_size", shape.head_size);
  members.number("ffn_size", shape.ffn_size);
  members.number("ffn_matrices", shape.ffn_matrices, true);
  members.number("vocab_size", shape.vocab_size);
  members.truth("tied_embeddings", shape.tied_embeddings);
  members.number("weight_bits", shape.weight_bits, true);
  members.number("max_model_len", shape.max_model_len);
  members.end();
  return shape;
}

}  // namespace tickertape::kernels::fake
