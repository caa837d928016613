// Cutting of batches into slices.
#include "kernels/cpu/pass_plan.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

namespace {

using namespace tickertape;
using namespace tickertape::kernels::cpu;

/// Row 0: five ids from position 3 with two outputs; row 1: the last token of slot 4; row 2: six
/// ids without output.
Batch three_rows() {
  Batch batch;
  batch.ids = {10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 25};
  Row first;
  first.first_position = 3;
  first.num_tokens = 5;
  first.output = RowOutput::sample;
  first.num_outputs = 2;
  Row second;
  second.slot = 1;
  second.first_position = 9;
  second.num_tokens = 1;
  second.source = RowSource::last_token_of;
  second.source_slot = 4;
  second.output = RowOutput::sample;
  second.num_outputs = 1;
  Row third;
  third.slot = 2;
  third.num_tokens = 6;
  third.first_id = 5;
  batch.rows = {first, second, third};
  batch.page_tables = {{{0, 1, 2, 3}, {7, 8, 9}}};
  return batch;
}

const std::vector<TokenId> kLastTokens = {0, 0, 0, 0, 99};

BOOST_AUTO_TEST_SUITE(pass_plan)

BOOST_AUTO_TEST_CASE(slices_of_any_size_hold_every_token_once_in_order) {
  const Batch batch = three_rows();
  for (std::uint32_t limit = 1; limit <= 13; ++limit) {
    PassPlan plan(batch, kLastTokens, limit);
    PassSlice slice;
    std::vector<TokenId> ids;
    std::vector<std::uint32_t> positions;
    std::vector<std::uint32_t> outputs;
    while (plan.next(slice)) {
      BOOST_TEST(slice.num_tokens() <= limit);
      std::uint32_t token = 0;
      for (const Segment& segment : slice.segments) {
        BOOST_TEST(segment.first_token == token);
        BOOST_TEST(segment.first_position == slice.positions[token]);
        BOOST_TEST(segment.pages.front() == 7 + segment.row);
        token += segment.num_tokens;
      }
      BOOST_TEST(token == slice.num_tokens());
      for (const OutputPosition& output : slice.outputs) {
        outputs.push_back(output.row * 100 + output.index * 10);
        outputs.push_back(static_cast<std::uint32_t>(slice.ids[output.token]));
      }
      ids.insert(ids.end(), slice.ids.begin(), slice.ids.end());
      positions.insert(positions.end(), slice.positions.begin(), slice.positions.end());
    }
    BOOST_TEST(ids == (std::vector<TokenId>{10, 11, 12, 13, 14, 99, 20, 21, 22, 23, 24, 25}));
    BOOST_TEST(positions == (std::vector<std::uint32_t>{3, 4, 5, 6, 7, 9, 0, 1, 2, 3, 4, 5}));
    BOOST_TEST(outputs == (std::vector<std::uint32_t>{0, 13, 10, 14, 100, 99}));
  }
}

BOOST_AUTO_TEST_CASE(an_empty_batch_has_no_slice) {
  Batch batch;
  batch.page_tables = {{{0}, {}}};
  PassSlice slice;
  BOOST_TEST(!PassPlan(batch, kLastTokens, 4).next(slice));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
