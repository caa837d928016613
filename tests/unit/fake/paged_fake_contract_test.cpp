// The paged fake against hosts that break the contract: each breach is noticed.
#include <boost/test/unit_test.hpp>

#include <tickertape/errors.hpp>
#include <tickertape/fake.hpp>

#include "tests/unit/fake/pass_driver.hpp"

using namespace tickertape;
using test::PassDriver;
using test::Sequence;

namespace {

struct Contract {
  Contract() {
    options.probe = probe;
    options.end_probability = 0;
    driver = std::make_unique<PassDriver>(*make_paged_fake_model(options));
  }
  [[nodiscard]] std::vector<TokenId> expected(const Sequence& sequence, std::uint32_t count) const {
    return paged_fake_expected(std::span(sequence.tokens).first(sequence.prompt_length),
                               sequence.params, sequence.seed, sequence.choice, count, options);
  }
  void check_told(const std::string& message) const {
    BOOST_TEST(probe->violations() > 0U);
    BOOST_TEST(probe->first_violation() == message);
  }
  void check_clean() const { BOOST_REQUIRE(probe->first_violation() == ""); }

  std::shared_ptr<PagedFakeProbe> probe = std::make_shared<PagedFakeProbe>();
  PagedFakeOptions options;
  std::unique_ptr<PassDriver> driver;
  Sequence one{1, {7, 8, 9}, {5, 6, 7}};
  Sequence two{2, {1, 2, 3, 4, 5}, {10, 11, 12}};
};

/// With a layer group of window 5: the token at position p sees positions p - 4 to p.
struct WindowContract : Contract {
  WindowContract() {
    options.windows = {LayerGroup{1, 5, 1024, 8}};
    driver = std::make_unique<PassDriver>(*make_paged_fake_model(options));
    one.pages = {5, 6, 7, 8};
    one.window_pages = {{1, 2, 3, 4}};
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(paged_fake_contract)

// What the fake is for: two bugs of an allocator, each with wrong tokens and a violation.
BOOST_FIXTURE_TEST_CASE(a_page_given_to_two_sequences_is_caught, Contract) {
  two.pages = {10, 6, 12};
  driver->generate(one, 3);
  driver->generate(two, 2);
  check_clean();  // Places of page 6 from position 4 on: the second has overwritten the first's.
  driver->generate(one, 6);
  check_told("slot 1 reads another sequence's token at position 4");
  BOOST_TEST(one.generated() != expected(one, 6));
  BOOST_TEST(two.generated() == expected(two, 2));
}

BOOST_FIXTURE_TEST_CASE(a_page_given_to_two_sequences_is_caught_in_one_pass, Contract) {
  two.pages = {5, 11, 12};
  driver->add(one);
  driver->add(two);
  driver->run();
  check_told("slot 2 writes a place that another row of the pass writes at position 0");
  BOOST_TEST(one.generated() != expected(one, 1));
}

BOOST_FIXTURE_TEST_CASE(a_forgotten_rewrite_is_caught, Contract) {
  driver->generate(one, 4);
  // Preempted; its pages go to another sequence; it comes back as if they still held its tokens.
  driver->batch.closed = {1};
  two.pages = {5, 6, 7};
  driver->generate(two, 3);
  check_clean();
  one.opened = false;
  one.pages = {5, 6, 7, 8};
  driver->generate(one, 8);
  check_told("slot 1 reads another sequence's token at position 0");
  BOOST_TEST(one.generated() != expected(one, 8));
}

BOOST_FIXTURE_TEST_CASE(a_forgotten_rewrite_of_fresh_pages_is_caught, Contract) {
  driver->generate(one, 4);
  driver->batch.closed = {1};
  one.opened = false;
  one.pages = {30, 31, 32};
  driver->add(one);
  driver->run();
  check_told("slot 1 reads a place never written at position 0");
}

BOOST_FIXTURE_TEST_CASE(the_right_token_after_another_history_is_caught, Contract) {
  Sequence other(3, {1, 2, 3, 4, 50, 51, 52, 53}, {20, 21, 22});
  driver->generate(other, 1);
  Sequence wrong(4, {9, 9, 9, 9, 50, 51, 52, 53, 54}, {30, 21, 31});
  driver->add(wrong, 4);
  driver->run();
  check_clean();
  wrong.num_cached = 8;  // Page 21 holds tokens 50 to 53, but of another prompt.
  driver->batch.closed = {4};
  wrong.opened = false;
  driver->add(wrong);
  driver->run();
  check_told("slot 4 reads a place written after another history at position 4");
}

BOOST_FIXTURE_TEST_CASE(the_right_tokens_at_another_position_are_caught, Contract) {
  Sequence other(3, {7, 7, 7, 7, 7, 7, 7, 7}, {20, 21});
  driver->add(other);
  driver->run();
  Sequence shifted(4, {7, 7, 7, 7, 7}, {21, 30});
  shifted.num_cached = 4;
  driver->add(shifted);
  driver->run();
  check_told("slot 4 reads a place written for another position at position 0");
}

BOOST_FIXTURE_TEST_CASE(a_shared_page_is_no_breach, Contract) {
  Sequence first(3, {1, 2, 3, 4, 5}, {20, 21});
  Sequence second(4, {1, 2, 3, 4, 6}, {20, 22});
  driver->generate(first, 1);
  second.num_cached = 4;
  driver->generate(second, 2);
  BOOST_TEST(second.generated() == expected(second, 2));
  check_clean();
}

BOOST_FIXTURE_TEST_CASE(a_page_that_is_computed_in_the_same_pass_is_no_hit, Contract) {
  Sequence first(3, {1, 2, 3, 4, 5}, {20, 21});
  Sequence second(4, {1, 2, 3, 4, 6}, {20, 22});
  second.num_cached = 4;
  driver->add(first);
  driver->add(second);
  driver->run();
  check_told("slot 4 reads a place never written at position 0");
}

BOOST_FIXTURE_TEST_CASE(a_prefix_written_during_the_pass_is_caught, Contract) {
  Sequence first(3, {1, 2, 3, 4, 5}, {20, 21});
  driver->generate(first, 1);
  Sequence second(4, {1, 2, 3, 4, 6}, {20, 22});
  Sequence again(5, {1, 2, 3, 4, 7}, {20, 23});
  second.num_cached = 4;
  driver->add(second);
  driver->add(again);
  driver->run();
  check_told("slot 4 reads a place that another row of the pass writes at position 0");
}

BOOST_FIXTURE_TEST_CASE(rows_of_slots_that_are_not_open_are_caught, Contract) {
  one.opened = true;
  driver->add(one);
  driver->run();
  check_told("slot 1 was never opened");
}

BOOST_FIXTURE_TEST_CASE(rows_of_closed_slots_are_caught, Contract) {
  driver->generate(one, 1);
  driver->batch.closed = {1};
  driver->add(one);
  driver->run();
  check_told("slot 1 was never opened");
}

BOOST_FIXTURE_TEST_CASE(slots_that_do_not_exist_are_caught, Contract) {
  one.slot = 8;
  driver->add(one);
  driver->run();
  check_told("opened slot 8 does not exist");
}

BOOST_FIXTURE_TEST_CASE(two_rows_of_a_slot_are_caught, Contract) {
  driver->add(one);
  one.pages = {20, 21};
  driver->add(one);
  driver->run();
  check_told("slot 1 has two rows");
}

BOOST_FIXTURE_TEST_CASE(pages_that_do_not_exist_are_caught, Contract) {
  one.pages = {64};
  driver->add(one);
  driver->run();
  check_told("slot 1 writes outside of the pages at position 0");
}

BOOST_FIXTURE_TEST_CASE(tables_that_are_too_short_are_caught, Contract) {
  two.pages = {10};
  driver->add(two);
  driver->run();
  check_told("slot 2 writes outside of the pages at position 4");
}

BOOST_FIXTURE_TEST_CASE(malformed_tables_are_caught, Contract) {
  driver->add(one);
  driver->batch.page_tables[0].offsets.pop_back();
  driver->run();
  check_told("slot 1 has a malformed page table");
}

BOOST_FIXTURE_TEST_CASE(missing_tables_are_caught, Contract) {
  driver->add(one);
  driver->batch.page_tables.clear();
  BOOST_TEST((driver->run().status == PassStatus::failed));
  check_told("the batch has 0 page tables");
}

BOOST_FIXTURE_TEST_CASE(holes_are_caught, Contract) {
  driver->add(two, 2);
  driver->run();
  two.num_cached = 3;
  driver->add(two);
  driver->run();
  check_told("slot 2 leaves a hole before position 3");
}

BOOST_FIXTURE_TEST_CASE(ids_unlike_the_opened_ones_are_caught, Contract) {
  driver->add(one);
  driver->batch.ids[1] = 100;
  driver->run();
  check_told("slot 1 has another id than it was opened with at position 1");
}

BOOST_FIXTURE_TEST_CASE(an_id_unlike_the_sampled_one_is_caught, Contract) {
  driver->generate(one, 2);
  one.tokens.back() = (one.tokens.back() + 1) % 1000;
  driver->add(one);
  driver->run();
  check_told("slot 1 has another id than was sampled at position 4");
}

BOOST_FIXTURE_TEST_CASE(drafts_may_be_written_over, Contract) {
  driver->generate(one, 1);
  // Two drafts, of which none is accepted: what follows begins behind the first output.
  const std::vector<TokenId> before = one.tokens;
  one.tokens.insert(one.tokens.end(), {600, 601});
  driver->add(one).num_outputs = 3;
  const BatchResult result = driver->run();
  BOOST_REQUIRE(result.rows[0].num_tokens == 3U);
  one.tokens = before;
  one.tokens.push_back(result.tokens[0]);
  one.num_cached = 4;
  driver->generate(one, 5);
  BOOST_TEST(one.generated() == expected(one, 5));
  check_clean();
}

BOOST_FIXTURE_TEST_CASE(last_token_of_a_slot_without_one_is_caught, Contract) {
  driver->add(two, 4);
  driver->run();
  driver->add_last_token(two);
  driver->run();
  check_told(
      "slot 2 wants the last token of slot 2 at position 4, which did not sample one for it");
}

BOOST_FIXTURE_TEST_CASE(last_token_at_another_position_is_caught, Contract) {
  driver->generate(one, 1);
  driver->add_last_token(one).first_position = 2;
  driver->run();
  check_told(
      "slot 1 wants the last token of slot 1 at position 2, which did not sample one for it");
}

BOOST_FIXTURE_TEST_CASE(ids_outside_of_the_vocabulary_are_caught, Contract) {
  one.tokens[2] = 1000;
  driver->add(one);
  driver->run();
  check_told("slot 1 has an id outside of the vocabulary at position 2");
}

BOOST_FIXTURE_TEST_CASE(ids_outside_of_the_batch_are_caught, Contract) {
  driver->add(one);
  driver->batch.ids.pop_back();
  driver->run();
  check_told("slot 1 has ids outside of Batch::ids");
}

BOOST_FIXTURE_TEST_CASE(malformed_openings_are_caught, Contract) {
  driver->add(one);
  driver->batch.opened_ids.pop_back();
  driver->run();
  check_told("opened slot 1 has tokens outside of opened_ids");
}

BOOST_FIXTURE_TEST_CASE(openings_without_a_prompt_are_caught, Contract) {
  one.prompt_length = 4;
  driver->add(one);
  driver->run();
  check_told("opened slot 1 has a prompt_length outside of its tokens");
}

BOOST_FIXTURE_TEST_CASE(malformed_rows_are_caught, Contract) {
  driver->add(one).num_outputs = 4;
  driver->run();
  check_told("slot 1 has more outputs than tokens");
}

BOOST_FIXTURE_TEST_CASE(outputs_of_no_position_are_caught, Contract) {
  driver->add(one).num_outputs = 0;
  driver->run();
  check_told("slot 1 wants an output of no position");
}

BOOST_FIXTURE_TEST_CASE(masks_that_do_not_exist_are_caught, Contract) {
  driver->add(one).mask = 0;
  driver->run();
  check_told("slot 1 has a mask that does not exist");
}

BOOST_FIXTURE_TEST_CASE(contexts_beyond_the_model_are_caught, Contract) {
  options.max_model_len = 4;
  PassDriver small(*make_paged_fake_model(options));
  small.add(two);
  small.run();
  check_told("slot 2 goes beyond max_model_len at position 0");
}

BOOST_FIXTURE_TEST_CASE(moves_of_pages_that_do_not_exist_are_caught, Contract) {
  const std::vector<PageMove> moves{{0, 3, 16}};
  driver->backend().swap_out(50, moves);
  BOOST_TEST((driver->backend().take(driver->host.next().value()).status == PassStatus::failed));
  check_told("a move from page 3 to page 16 names a page that does not exist");
  BOOST_TEST(probe->swapped_out_pages == 0U);
}

BOOST_FIXTURE_TEST_CASE(taking_twice_is_caught, Contract) {
  driver->add(one);
  const Ticket ticket = driver->submit();
  driver->finish(ticket);
  BOOST_TEST((driver->backend().take(ticket).status == PassStatus::failed));
  check_told("ticket 1 has no outcome to take");
}

BOOST_FIXTURE_TEST_CASE(the_probe_keeps_the_last_batch, Contract) {
  driver->add(one);
  driver->run();
  BOOST_TEST(probe->last_batch().rows.size() == 1U);
  BOOST_TEST(probe->last_batch().ids == (std::vector<TokenId>{7, 8, 9}));
}

// The faults of an allocator that gives back the pages of windows: too early, and to two at once.
BOOST_FIXTURE_TEST_CASE(a_released_page_that_the_window_shows_is_caught, WindowContract) {
  driver->generate(one, 5);  // Tokens 0 to 6 are written; token 7 sees 3 to 7.
  one.window_pages[0][0] = kNoPage;
  driver->generate(one, 6);
  check_told("slot 1 reads a released page at position 3 in layer group 1");
  BOOST_TEST(one.generated() != expected(one, 6));
}

BOOST_FIXTURE_TEST_CASE(a_released_page_before_the_window_is_no_breach, WindowContract) {
  driver->generate(one, 6);  // Token 8 sees 4 to 8.
  one.window_pages[0][0] = kNoPage;
  driver->generate(one, 9);
  BOOST_TEST(one.generated() == expected(one, 9));
  check_clean();
}

BOOST_FIXTURE_TEST_CASE(a_chunk_sees_the_window_of_its_first_token, WindowContract) {
  one = Sequence(1, {7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, {5, 6, 7, 8});
  one.window_pages = {{1, 2, 3, 4}};
  driver->add(one, 7);
  driver->run();
  one.window_pages[0][0] = kNoPage;
  driver->add(one);  // 7 to 9.
  driver->run();
  check_told("slot 1 reads a released page at position 3 in layer group 1");
}

BOOST_FIXTURE_TEST_CASE(a_page_of_a_window_given_to_another_is_caught, WindowContract) {
  two.window_pages = {{2, 5, 6}};
  driver->generate(one, 3);  // Positions 0 to 4.
  driver->generate(two, 1);
  check_clean();
  driver->generate(one, 4);
  check_told("slot 1 reads a place written for another position at position 4 in layer group 1");
  BOOST_TEST(one.generated() != expected(one, 4));
}

BOOST_FIXTURE_TEST_CASE(pages_that_a_window_s_group_has_not_are_caught, WindowContract) {
  one.window_pages = {{8}};
  driver->add(one);
  driver->run();
  check_told("slot 1 writes outside of the pages at position 0 in layer group 1");
  const std::vector<PageMove> moves{{1, 7, 0}, {1, 8, 1}};
  driver->backend().swap_out(50, moves);
  BOOST_TEST((driver->backend().take(driver->host.next().value()).status == PassStatus::failed));
  BOOST_TEST(probe->swapped_out_pages == 1U);
}

BOOST_AUTO_TEST_CASE(a_further_layer_group_without_a_window_is_refused) {
  PagedFakeOptions options;
  options.windows = {LayerGroup{}};
  BOOST_CHECK_THROW(static_cast<void>(make_paged_fake_model(options)), Error);
}

BOOST_AUTO_TEST_SUITE_END()
