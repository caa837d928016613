// What a backend takes of memory, what the system has, and the refusal of what does not fit.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <tickertape/errors.hpp>

#include "kernels/cpu/memory_budget.hpp"
#include "kernels/cpu/memory_need.hpp"
#include "tests/support/tiny_llama.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;
using namespace tickertape::kernels::cpu;

constexpr std::uint64_t kMib = 1U << 20;

/// A folder that stands for "/".
class Root {
 public:
  Root() {
    std::string name = (std::filesystem::temp_directory_path() / "tickertape_XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Root() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  Root& file(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return *this;
  }
  Root& machine(std::uint64_t available_mib) {
    return file("proc/meminfo",
                "MemTotal:        8388608 kB\nMemFree:            1024 kB\n"
                "MemAvailable:    " +
                    std::to_string(available_mib * 1024) + " kB\n");
  }
  [[nodiscard]] MemoryBudget budget() const { return read_memory_budget(path_); }

 private:
  std::filesystem::path path_;
};

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(the_machine_sets_a_limit) {
  Root root;
  root.machine(5000).file("proc/self/cgroup", "0::/\n");
  BOOST_TEST(root.budget().bytes == 5000 * kMib);
  BOOST_TEST(root.budget().limit == "of the machine's 8192 MiB, 3192 MiB are in use");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_sets_none) {
  BOOST_TEST(Root().budget().bytes == ~std::uint64_t{0});
  Root root;
  root.machine(100).file("proc/self/cgroup",
                         "nonsense\n0:\n::\n0::/gone\n7:memory\n4:memory:/gone\n");
  BOOST_TEST(root.budget().bytes == 100 * kMib);
  root.file("sys/fs/cgroup/memory.max", "max\n").file("sys/fs/cgroup/memory.current", "12\n");
  BOOST_TEST(root.budget().bytes == 100 * kMib);
}

BOOST_AUTO_TEST_CASE(the_tightest_group_of_version_2_counts_without_droppable_pages) {
  Root root;
  root.machine(5000).file("proc/self/cgroup", "0::/outer/inner\n");
  const auto group = [&](const std::string& name, std::uint64_t max, std::uint64_t current) {
    root.file("sys/fs/cgroup/" + name + "memory.max", std::to_string(max * kMib) + "\n");
    root.file("sys/fs/cgroup/" + name + "memory.current", std::to_string(current * kMib) + "\n");
  };
  group("outer/inner/", 3000, 500);
  BOOST_TEST(root.budget().bytes == 2500 * kMib);
  group("outer/", 1000, 700);
  root.file("sys/fs/cgroup/outer/memory.stat", "anon 5\nfile 400\ninactive_file " +
                                                   std::to_string(300 * kMib) + "\nactive_file " +
                                                   std::to_string(200 * kMib) + "\n");
  BOOST_TEST(root.budget().bytes == 800 * kMib);
  BOOST_TEST(root.budget().limit == "of the control group's 1000 MiB, 200 MiB are in use");
  group("", 900, 950);
  BOOST_TEST(root.budget().bytes == 0U);
}

BOOST_AUTO_TEST_CASE(groups_of_version_1_are_found_by_their_controller) {
  Root root;
  root.machine(5000).file("proc/self/cgroup",
                          "9:name=systemd:/\n5:cpu,memory:/box\n3:cpuset:/memory\n0::/\n");
  root.file("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(2000 * kMib));
  root.file("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(600 * kMib));
  root.file("sys/fs/cgroup/memory/memory.stat",
            "cache 9\ntotal_inactive_file " + std::to_string(100 * kMib) + "\n");
  BOOST_TEST(root.budget().bytes == 1500 * kMib);
  root.file("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712");
  root.file("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1");
  BOOST_TEST(root.budget().bytes == 1500 * kMib);
}

BOOST_AUTO_TEST_CASE(this_machine_can_be_read) {
  const MemoryBudget budget = read_memory_budget();
  BOOST_TEST(budget.bytes > 0U);
  BOOST_TEST(budget.bytes < ~std::uint64_t{0});
}

BOOST_AUTO_TEST_CASE(a_model_tells_what_it_takes) {
  TinyLlama llama;
  llama.type = kernels::formats::GgmlType::q8_0;
  const auto model = load_tiny_llama(llama);
  BackendOptions options;
  options.kv_cache_memory = 4 * kMib;
  const MemoryNeed need = model->memory_need(options);
  BOOST_TEST(need.bytes_per_page == 2U * 2 * 2 * 16 * 16 * 2);
  BOOST_TEST(need.num_pages == 4 * kMib / need.bytes_per_page);
  BOOST_TEST(need.kv_bytes == 4 * kMib);
  BOOST_TEST(need.weight_bytes > model->info().weight_bytes / 2);
  BOOST_TEST(need.scratch_bytes > 256U * 64 * sizeof(float));
  options.num_host_pages = 7;
  BOOST_TEST(model->memory_need(options).kv_bytes == 4 * kMib + 7 * need.bytes_per_page);
  options.page_size = 3;
  BOOST_CHECK_THROW(static_cast<void>(model->memory_need(options)), Error);
}

BOOST_AUTO_TEST_CASE(a_model_lists_its_tensors) {
  const auto model = load_tiny_llama({});
  std::uint64_t bytes = 0;
  for (const ModelTensor& tensor : model->tensors()) bytes += tensor.bytes;
  BOOST_TEST(bytes == model->info().weight_bytes);
  const ModelTensor& embedding = model->tensors().front();
  BOOST_TEST(embedding.name == "token_embd.weight");
  BOOST_TEST(embedding.type == "F32");
  BOOST_TEST(embedding.shape == (std::vector<std::uint64_t>{300, 64}));
  BOOST_TEST(embedding.bytes == 300U * 64 * 4);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_with_numbers) {
  MemoryNeed need;
  need.weight_bytes = 80 * kMib;
  need.scratch_bytes = 20 * kMib;
  need.bytes_per_page = kMib;
  need.num_pages = 500;
  need.kv_bytes = 500 * kMib;
  BackendOptions options;
  const auto error_of = [&](std::uint64_t mib) {
    try {
      check_memory(need, options, {mib * kMib, "of a box's 9 MiB"});
    } catch (const Error& error) {
      return error.info();
    }
    return ErrorInfo{};
  };
  BOOST_TEST(!error_of(600));
  ErrorInfo error = error_of(599);
  BOOST_TEST((error.code == Errc::invalid_request));
  BOOST_TEST(error.param == "kv_cache_memory");
  for (const char* part : {"500 pages", "500 MiB", "80 MiB", "20 MiB", "599 MiB",
                           "of a box's 9 MiB", "at most 499 pages"}) {
    BOOST_TEST(says(error.message, part), error.message << " lacks " << part);
  }
  options.num_kv_pages = 500;
  BOOST_TEST(error_of(599).param == "num_kv_pages");
  error = error_of(100);
  BOOST_TEST((error.code == Errc::invalid_model));
  BOOST_TEST(says(error.message, "80 MiB of weights"));
  need.kv_bytes = ~std::uint64_t{0};
  BOOST_TEST((error_of(599).code == Errc::invalid_request));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
