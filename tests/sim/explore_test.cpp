// Exploration: every interleaving of what can happen to a small world of the real planner and pool,
// breadth first, up to a number of states. After every step the invariants hold; from every state
// the world comes to an end in which everybody was told so exactly once and every page is back.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "actors/admission.hpp"
#include "actors/order.hpp"
#include "actors/planner.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;

enum class Step : std::uint8_t {
  submit,      ///< The next request.
  plan,        ///< A tick begins,
  go_on,       ///< and ends: every sampling row gives a token,
  one_ends,    ///< the first one an end token,
  all_end,     ///< all of them,
  one_fails,   ///< the first one bad numbers,
  all_fail,    ///< the pass and the copies before it fail,
  swap_fails,  ///< or what was moved is lost.
  cancel_first,
  cancel_last,
  stop_first,   ///< By a stop string.
  grant_first,  ///< One token more.
  wait          ///< Longer than the grace of parked ones.
};
constexpr std::uint8_t kNumSteps = 13;

struct Case {
  std::string name;
  PlannerOptions options;
  std::vector<NewRequest> requests;
};

/// A planner with what its engine would know of it.
class World {
 public:
  explicit World(const Case& what) : case_(what), planner_(what.options) {}

  [[nodiscard]] bool can(Step step) const {
    switch (step) {
      case Step::submit:
        return num_submitted_ < case_.requests.size();
      case Step::plan:
        return plans_.size() < (case_.options.overlap ? kMaxPlansUnderWay : 1);
      case Step::go_on:
        return !plans_.empty();
      case Step::one_ends:
      case Step::one_fails:
      case Step::all_fail:
        return !plans_.empty() && !plans_.front().rows.empty();
      case Step::all_end:
        return !plans_.empty() && plans_.front().rows.size() > 1;
      case Step::swap_fails:
        return !plans_.empty() &&
               plans_.front().swap_out.size() + plans_.front().swap_in.size() > 0;
      case Step::cancel_last:
        return num_submitted_ > 1;
      default:
        return num_submitted_ > 0;
    }
  }

  void take(Step step) {
    switch (step) {
      case Step::submit:
        planner_.add(case_.requests[num_submitted_++], now_ns_);
        break;
      case Step::plan:
        begin();
        break;
      case Step::cancel_first:
        tell(0, true, {});
        break;
      case Step::cancel_last:
        tell(num_submitted_ - 1, true, {});
        break;
      case Step::stop_first:
        tell(0, false, {0});
        break;
      case Step::grant_first:
        ++granted_[0];
        tell(0, false, {});
        break;
      case Step::wait:
        now_ns_ += 150;
        break;
      default:
        end(step);
    }
    planner_.check();
  }

  /// Lets it run out; what was wrong, or nothing.
  std::string run_out() {
    while (num_submitted_ < case_.requests.size()) take(Step::submit);
    for (std::size_t i = 0; i < case_.requests.size(); ++i) granted_[i] = 1000;
    for (int i = 0; i < 400 && planner_.num_running() + planner_.num_waiting() > 0; ++i) {
      for (std::size_t r = 0; r < case_.requests.size(); ++r) tell(r, false, {});
      // With overlap the second one goes ahead.
      for (std::size_t p = 0; p < kMaxPlansUnderWay && can(Step::plan); ++p) take(Step::plan);
      if (plans_.empty() || plans_.front().rows.empty()) now_ns_ += 150;
      if (can(Step::go_on)) take(Step::go_on);
    }
    while (can(Step::go_on)) take(Step::go_on);
    take(Step::plan);  // What is still to be told.
    if (planner_.num_running() + planner_.num_waiting() > 0) return "it never came to an end";
    for (const NewRequest& request : case_.requests) {
      for (std::uint32_t choice = 0; choice < request.num_choices; ++choice) {
        if (ends_[request.id + choice] != 1) {
          return std::to_string(request.id + choice) + " ended " +
                 std::to_string(ends_[request.id + choice]) + " times";
        }
      }
    }
    const KvWindows& windows = planner_.windows();
    for (std::size_t group = 0; group <= windows.size(); ++group) {
      const KvPool& pool = group == 0 ? planner_.pool() : windows.pool(group - 1);
      const HostPool& host = group == 0 ? planner_.host_pool() : windows.host_pool(group - 1);
      if (pool.num_available() != pool.options().num_pages) return "pages are missing";
      if (host.num_free() != host.num_pages()) return "host pages are missing";
    }
    return broken_;
  }

  [[nodiscard]] const std::string& broken() const noexcept { return broken_; }

  /// Equal for states from which the same can happen, as far as anybody can see.
  [[nodiscard]] std::uint64_t digest() const {
    std::uint64_t hash = 14695981039346656037ULL;
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
    mix(num_submitted_);
    for (const Plan& plan : plans_) mix(plan.rows.size() + 1);
    mix(plans_.size());
    for (std::size_t i = 0; i < num_submitted_; ++i) {
      const NewRequest& request = case_.requests[i];
      mix(granted_.contains(i) ? granted_.at(i) : 0);
      for (std::uint32_t choice = 0; choice < request.num_choices; ++choice) {
        const PlannedSequence* sequence = planner_.find(request.id + choice);
        mix(sequence != nullptr ? 1 : 0);
        if (sequence == nullptr) continue;
        const SequenceView& view = sequence->view;
        for (const std::uint64_t value :
             {std::uint64_t{view.num_tokens}, std::uint64_t{view.num_computed},
              std::uint64_t{sequence->running}, std::uint64_t{sequence->flights.size()},
              std::uint64_t{sequence->next_position()}, std::uint64_t{sequence->num_moves},
              std::uint64_t{sequence->ending}, std::uint64_t{sequence->finished},
              std::uint64_t{view.parked}, std::uint64_t{view.preemptions},
              static_cast<std::uint64_t>(now_ns_ - view.parked_since_ns > 100),
              std::uint64_t{sequence->swapped.pages.size()}, std::uint64_t{sequence->num_named}}) {
          mix(value);
        }
        for (const PageId page : sequence->table) mix(page + 1);
        for (std::size_t i = 0; i < planner_.windows().size(); ++i) {
          for (const PageId page : planner_.windows().pool(i).pages(view.id)) mix(page + 1);
        }
      }
    }
    mix(planner_.pool().num_cached());
    for (std::size_t i = 0; i < planner_.windows().size(); ++i) {
      mix(planner_.windows().pool(i).num_cached());
    }
    return hash;
  }

 private:
  void tell(std::size_t index, bool cancelled, std::vector<std::uint32_t> stopped) {
    ReaderEvent event;
    event.id = case_.requests[index].id;
    event.granted = case_.requests[index].granted + granted_[index];
    event.cancelled = cancelled;
    event.stopped = std::move(stopped);
    planner_.apply(event);
  }

  void begin() {
    Plan plan = planner_.make_plan(now_ns_);
    for (const PlanEnded& ended : plan.ended) {
      if (++ends_[ended.id] > 1) broken_ = "an end was told twice by plans";
    }
    for (const PlanPreempted& preempted : plan.preempted) {
      const PlannedSequence* sequence = planner_.find(preempted.id);
      if (sequence != nullptr &&
          sequence->view.preemptions >
              sequence->view.max_tokens + case_.options.max_class_preemptions) {
        broken_ = "preempted more often than it has tokens";
      }
    }
    if (!plan.preempted.empty() && plan.opened.size() > 1) broken_ = "admitted beside a preemption";
    // The stepper takes such a plan, and goes on with the one under way.
    if (case_.options.overlap && !plan.has_work()) return;
    plans_.push_back(std::move(plan));
  }

  void end(Step outcome) {
    const Plan plan = std::move(plans_.front());
    plans_.pop_front();
    Demand demand;
    demand.has_landed = plan.has_work();
    demand.copy_failed = outcome == Step::all_fail;
    demand.swap_failed = outcome == Step::swap_fails;
    std::map<SequenceId, bool> over;
    bool is_first = true;
    for (const PlanRow& row : plan.rows) {
      // Planned ahead for one that has ended: nobody looks at it.
      if (row.kind != RowKind::work || planner_.find(row.id) == nullptr) continue;
      const PlannedSequence& sequence = *planner_.find(row.id);
      RowDone done;
      done.id = row.id;
      const bool was_moved = outcome == Step::swap_fails && moved(plan, row.id);
      const bool fails =
          (outcome == Step::one_fails && is_first) || outcome == Step::all_fail || was_moved;
      if (over[row.id] || fails) {
        done.ended = true;
      } else {
        done.num_computed = row.num_tokens;
        const std::uint32_t known = sequence.view.num_tokens;
        const bool samples =
            row.output == RowOutput::sample && row.first_position + row.num_tokens == known;
        done.num_emitted = samples ? 1 : 0;
        const bool ends =
            samples && (outcome == Step::all_end || (outcome == Step::one_ends && is_first));
        done.by_itself = ends;
        done.ended = ends || (samples && known + 1 == sequence.view.max_tokens);
      }
      if (done.ended && !std::exchange(over[row.id], true)) told(row.id);
      is_first = false;
      demand.done.push_back(done);
    }
    planner_.commit(demand);
  }

  /// The stepper told an end. One that the planner has on its list too is told once: here.
  void told(SequenceId id) {
    if (++ends_[id] > 1) broken_ = "an end was told twice";
  }

  [[nodiscard]] static bool moved(const Plan& plan, SequenceId id) {
    for (const PlanOpened& opened : plan.opened) {
      if (opened.id == id && opened.resumed && opened.how == Notice::How::swap) return true;
    }
    return false;
  }

  const Case& case_;
  Planner planner_;
  std::size_t num_submitted_ = 0;
  std::int64_t now_ns_ = 0;
  std::deque<Plan> plans_;  ///< Under way, oldest first.
  std::map<std::size_t, std::uint64_t> granted_;
  std::map<SequenceId, int> ends_;
  std::string broken_;
};

std::string words(const std::vector<Step>& path) {
  static const char* const kNames[] = {"submit",       "plan",        "go_on",      "one_ends",
                                       "all_end",      "one_fails",   "all_fail",   "swap_fails",
                                       "cancel_first", "cancel_last", "stop_first", "grant_first",
                                       "wait"};
  std::string text;
  for (const Step step : path) text += std::string(" ") + kNames[static_cast<std::size_t>(step)];
  return text;
}

/// How many states there were, at most `limit`; the first fault ends it.
std::size_t explore(const Case& what, std::size_t limit) {
  std::unordered_set<std::uint64_t> seen;
  std::deque<std::vector<Step>> open{{}};
  while (!open.empty() && seen.size() < limit) {
    const std::vector<Step> path = std::move(open.front());
    open.pop_front();
    for (std::uint8_t i = 0; i < kNumSteps; ++i) {
      World world(what);
      for (const Step step : path) world.take(step);
      const Step next = static_cast<Step>(i);
      if (!world.can(next)) continue;
      world.take(next);
      std::vector<Step> longer = path;
      longer.push_back(next);
      if (!seen.insert(world.digest()).second) continue;
      const std::string broken = world.broken().empty() ? world.run_out() : world.broken();
      if (!broken.empty()) {
        BOOST_ERROR(what.name << ": " << broken << " after" << words(longer));
        return seen.size();
      }
      open.push_back(std::move(longer));
    }
  }
  return seen.size();
}

/// 3 requests, 4 pages of 2 tokens.
Case small_case() {
  Case what;
  what.options.pool = KvPoolOptions{4, 2};
  what.options.max_num_seqs = 2;
  what.options.max_num_batched_tokens = 4;
  what.options.park_grace_ns = 100;
  what.options.stall_timeout_ns = 1'000'000;
  what.options.prefix_caching = false;
  for (SequenceId id = 1; id <= 5; id += 2) {
    NewRequest request;
    request.id = id;
    request.prompt_tokens = id == 3 ? 3 : 2;
    request.max_tokens = request.prompt_tokens + 3;
    request.granted = id == 1 ? 2 : 10;
    request.priority = id == 5 ? 0 : 1;
    what.requests.push_back(request);
  }
  return what;
}

/// Cases, each a change of the small one.
struct Cases {
  std::vector<Case> all;

  void add(const std::string& name, void (*change)(Case&)) {
    Case& what = all.emplace_back(small_case());
    what.name = name;
    change(what);
  }
};

void add_windows(Cases& cases) {
  cases.add("windows, names, swap", [](Case& c) {
    c.options.windows = {LayerGroup{1, 2, 0, 5}};
    c.options.prefix_caching = true;
    for (NewRequest& request : c.requests) request.names = {101};
    c.options.preemption_method = PreemptionMethod::swap;
    c.options.num_host_pages = 3;
  });
  cases.add("windows of one token, classes, choices", [](Case& c) {
    c.options.windows = {LayerGroup{1, 1, 0, 5}, LayerGroup{1, 3, 0, 6}};
    c.options.order = priority_order(1'000'000);
    c.requests[1].num_choices = 2;
  });
}

/// They run with and without overlap.
Cases continuous_cases() {
  Cases cases;
  cases.add("recompute", [](Case&) {});
  cases.add("swap", [](Case& c) {
    c.options.preemption_method = PreemptionMethod::swap;
    c.options.num_host_pages = 3;
  });
  cases.add("auto, predicted", [](Case& c) {
    c.options.num_host_pages = 4;
    c.options.admission = predicted_admission(0.9, 0.05);
  });
  cases.add("reserve", [](Case& c) { c.options.admission = reserve_admission(); });
  cases.add("classes, swap", [](Case& c) {
    c.options.order = priority_order(1'000'000);
    c.options.preemption_method = PreemptionMethod::swap;
    c.options.num_host_pages = 4;
  });
  cases.add("names, recompute", [](Case& c) {
    c.options.prefix_caching = true;
    for (NewRequest& request : c.requests) request.names = {101};
  });
  cases.add("names, classes, swap", [](Case& c) {
    c.options.prefix_caching = true;
    for (NewRequest& request : c.requests) request.names = {101};
    c.options.order = priority_order(1'000'000);
    c.options.preemption_method = PreemptionMethod::swap;
    c.options.num_host_pages = 4;
  });
  cases.add("choices", [](Case& c) { c.requests[1].num_choices = 2; });
  cases.add("choices, swap, fair", [](Case& c) {
    c.requests[1].num_choices = 2;
    c.options.preemption_method = PreemptionMethod::swap;
    c.options.num_host_pages = 4;
    c.options.order = fair_order();
  });
  cases.add("clients, swap", [](Case& c) {
    for (NewRequest& request : c.requests) request.client = request.id == 5 ? 2 : 1;
    c.options.preemption_method = PreemptionMethod::swap;
    c.options.num_host_pages = 4;
    c.options.order = fair_order();
  });
  cases.add("iteration", [](Case& c) { c.options.batching = Batching::iteration; });
  return cases;
}

std::vector<Case> all_cases() {
  Cases cases = continuous_cases();
  add_windows(cases);
  const std::size_t num_continuous = cases.all.size();
  for (std::size_t i = 0; i < num_continuous; ++i) {
    Case ahead = cases.all[i];
    ahead.name += ", overlap";
    ahead.options.overlap = true;
    cases.all.push_back(std::move(ahead));
  }
  cases.add("host state, overlap", [](Case& c) {
    c.options.overlap = true;
    c.requests[0].needs_host = true;
  });
  cases.add("static", [](Case& c) {
    c.options.batching = Batching::static_batch;
    c.options.static_batch_wait_ns = 100;
  });
  cases.add("windows, chunks, overlap", [](Case& c) {
    c.options.pool.num_pages = 8;
    c.options.windows = {LayerGroup{1, 2, 0, 9}};
    c.options.overlap = true;
    c.requests[1].prompt_tokens = 12;
    c.requests[1].max_tokens = 14;
  });
  cases.add("windows, static", [](Case& c) {
    c.options.windows = {LayerGroup{1, 2, 0, 3}};
    c.options.batching = Batching::static_batch;
    c.options.static_batch_wait_ns = 100;
  });
  return cases.all;
}

BOOST_AUTO_TEST_CASE(every_interleaving_of_small_worlds) {
  const char* const text = std::getenv("TICKERTAPE_STATES");
  const std::size_t limit = text == nullptr ? 4000 : std::strtoull(text, nullptr, 10);
  for (const Case& what : all_cases()) {
    const std::size_t count = explore(what, limit);
    std::cout << what.name << ": " << count << " states\n";
    BOOST_TEST(count > 500U, what.name);
  }
}

}  // namespace
