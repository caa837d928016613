// Many generations at once: each gets its own tokens, on one connection and on many.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

constexpr int kGenerations = 32;

std::vector<TokenId> prompt_of(int number) {
  std::vector<TokenId> prompt;
  for (int i = 0; i <= number % 40; ++i) prompt.push_back(1 + (number * 37 + i * 11) % 900);
  return prompt;
}

Json submit_of(int number, const std::string& id) {
  return {{"type", "submit"},
          {"id", id},
          {"prompt_ids", prompt_of(number)},
          {"temperature", number % 2},
          {"seed", number},
          {"max_tokens", 20 + number},
          {"ignore_eos", number % 3 == 0}};
}

std::vector<int> expected_of(int number) {
  SamplingParams params;
  params.temperature = number % 2;
  params.ignore_eos = number % 3 == 0;
  return paged_fake_expected(prompt_of(number), params, static_cast<std::uint64_t>(number), 0,
                             static_cast<std::uint32_t>(20 + number), PagedFakeOptions());
}

void check(const Answer& answer, int number) {
  BOOST_TEST(answer.trouble == "", "generation " << number);
  BOOST_TEST(answer.tokens == expected_of(number), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE(ws_generations)

// The tiny pool cannot hold them all, so preemption takes place as well.
BOOST_AUTO_TEST_CASE(thirty_two_on_one_connection) {
  TestServer server(make_paged_fake_model());
  WsClient client(server.port());
  client.until("hello");
  for (int i = 0; i < kGenerations; ++i) client.send(submit_of(i, "g" + std::to_string(i)));
  std::map<std::string, Answer> answers;
  for (int done = 0; done < kGenerations;) {
    const Json message = client.next();
    add_frame(answers[message.at("id")], message);
    done += message["type"] == "done" ? 1 : 0;
  }
  for (int i = 0; i < kGenerations; ++i) check(answers["g" + std::to_string(i)], i);
  server.wait_idle();
}

BOOST_AUTO_TEST_CASE(thirty_two_connections) {
  TestServer server(make_paged_fake_model());
  std::vector<WsClient> clients;
  for (int i = 0; i < kGenerations; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(submit_of(i, "same id everywhere"));
  }
  for (int i = 0; i < kGenerations; ++i) {
    clients[static_cast<std::size_t>(i)].until("hello");
    check(read_answer(clients[static_cast<std::size_t>(i)], "same id everywhere"), i);
  }
  server.wait_idle();
}

BOOST_AUTO_TEST_CASE(preemptions_are_told_when_asked_for) {
  TestServer server(make_paged_fake_model());
  WsClient client(server.port());
  client.until("hello");
  constexpr int kMany = 6;
  for (int i = 0; i < kMany; ++i) {
    client.send({{"type", "submit"},
                 {"id", std::to_string(i)},
                 {"prompt_ids", std::vector<int>(60, 5 + i)},
                 {"max_tokens", 200},
                 {"ignore_eos", true},
                 {"temperature", 0},
                 {"events", i == 0 ? Json::array() : Json::array({"preempted"})}});
  }
  std::map<std::string, int> preempted;
  std::map<std::string, int> resumed;
  std::map<std::string, int> told;
  for (int done = 0; done < kMany;) {
    const Json message = client.next();
    const std::string id = message.at("id");
    if (message["type"] == "preempted") {
      BOOST_TEST(message["how"] == "recompute");
      ++preempted[id];
    }
    if (message["type"] == "resumed") ++resumed[id];
    if (message["type"] != "done") continue;
    told[id] = message["timings"]["preemptions"];
    ++done;
  }
  BOOST_TEST(preempted["0"] == 0);
  int sum = 0;
  for (int i = 1; i < kMany; ++i) {
    const std::string id = std::to_string(i);
    BOOST_TEST(preempted[id] == told[id]);
    BOOST_TEST(resumed[id] == preempted[id]);
    sum += preempted[id];
  }
  BOOST_TEST(sum > 0);
}

BOOST_AUTO_TEST_CASE(cancel_ends_one_and_leaves_the_others) {
  TestServer server(make_paged_fake_model(), large_pool());
  WsClient client(server.port());
  client.until("hello");
  client.send({{"type", "submit"},
               {"id", "victim"},
               {"prompt", "x"},
               {"window", 2},
               {"max_tokens", 100},
               {"ignore_eos", true}});
  client.until("token", "victim");
  client.send(submit_of(5, "other"));
  client.send({{"type", "cancel"}, {"id", "victim"}});
  client.send({{"type", "cancel"}, {"id", "victim"}});
  std::map<std::string, Answer> answers;
  while (answers["victim"].done.is_null() || answers["other"].done.is_null()) {
    const Json message = client.next();
    if (message["id"] == "other") add_frame(answers["other"], message);
    if (message["type"] == "done") answers[message["id"]].done = message;
  }
  BOOST_TEST(answers["victim"].done["finish_reason"] == "cancelled");
  check(answers["other"], 5);
  server.wait_idle();
  BOOST_TEST(server.engine().stats().finished[static_cast<std::size_t>(FinishReason::cancelled)] ==
             1U);
}

BOOST_AUTO_TEST_CASE(a_bad_row_ends_its_own_generation_only) {
  Script script;
  script.rules.resize(1);
  script.rules[0].match = "bad";
  script.rules[0].text = "abcdef";
  script.rules[0].nan_at = 3;
  script.fallback.text = "fine";
  TestServer server(make_scripted_model(script));
  WsClient client(server.port());
  client.until("hello");
  client.send({{"type", "submit"}, {"id", "bad"}, {"prompt", "bad"}});
  const Answer bad = read_answer(client, "bad");
  BOOST_TEST(bad.text == "abc");
  BOOST_TEST(bad.done["finish_reason"] == "error");
  BOOST_TEST(bad.done["error"]["status"] == 500);
  BOOST_TEST(bad.done["error"]["message"].is_string());
  client.send({{"type", "submit"}, {"id", "good"}, {"prompt", "good"}});
  BOOST_TEST(read_answer(client, "good").text == "fine");
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_a_generation) {
  Script script;
  script.tick_ms = 5;
  script.fallback.text = "x";
  script.fallback.repeat = true;
  TestServer server(make_scripted_model(script), large_pool());
  WsClient client(server.port());
  client.until("hello");
  client.send({{"type", "submit"},
               {"id", "a"},
               {"prompt", "x"},
               {"deadline_ms", 100},
               {"max_tokens", 2000}});
  BOOST_TEST(client.until("done", "a")["finish_reason"] == "deadline");
}

/// Three choices: one that ends at once, a longer one, and one that goes on until it is cancelled.
Script three_choices() {
  Script script;
  script.rules.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) script.rules[i].choice = i;
  script.rules[0].text = "a";
  script.rules[1].text = "bb";
  script.rules[2].text = "c";
  script.rules[2].repeat = true;
  return script;
}

BOOST_AUTO_TEST_CASE(each_choice_ends_right_after_its_last_token) {
  TestServer server(make_scripted_model(three_choices()), large_pool());
  WsClient client(server.port());
  client.until("hello");
  client.send({{"type", "submit"}, {"id", "x"}, {"prompt", "p"}, {"n", 3}, {"window", 20}});
  client.until("accepted");
  std::map<int, std::string> texts;
  std::map<int, int> counts;
  std::vector<int> ended;
  int total = 0;
  Json message;
  while (ended.size() < 2) {
    message = client.next();
    const int index = message["index"];
    BOOST_TEST(message["type"] == "token");
    BOOST_TEST(message["seq"] == counts[index]++);
    texts[index] += message["text"];
    ++total;
    if (!message.contains("finish_reason")) continue;
    const Json done = client.next();
    BOOST_TEST(done["type"] == "done");
    BOOST_TEST(done["index"] == index);
    BOOST_TEST(done["finish_reason"] == message["finish_reason"]);
    BOOST_TEST(!done.contains("final"));
    BOOST_TEST(!done.contains("usage"));
    ended.push_back(index);
  }
  client.send({{"type", "cancel"}, {"id", "x"}});
  for (message = client.next(); message["type"] == "token"; message = client.next()) {
    BOOST_TEST(message["index"] == 2);
    ++total;
  }
  BOOST_TEST(ended == (std::vector<int>{0, 1}), boost::test_tools::per_element());
  BOOST_TEST(texts[0] == "a");
  BOOST_TEST(texts[1] == "bb");
  BOOST_TEST(message["type"] == "done");
  BOOST_TEST(message["index"] == 2);
  BOOST_TEST(message["finish_reason"] == "cancelled");
  BOOST_TEST(message["final"] == true);
  BOOST_TEST(message["usage"]["completion_tokens"] == total);
  server.wait_idle();
}

BOOST_AUTO_TEST_CASE(choices_without_a_last_token_end_together) {
  Script script;
  script.fallback.text = "x";
  script.fallback.repeat = true;
  TestServer server(make_scripted_model(script), large_pool());
  WsClient client(server.port());
  client.until("hello");
  client.send({{"type", "submit"}, {"id", "x"}, {"prompt", "p"}, {"n", 3}, {"window", 9}});
  client.until("token");
  client.send({{"type", "cancel"}, {"id", "x"}});
  for (int index = 0; index < 3; ++index) {
    const Json done = client.until("done");
    BOOST_TEST(done["index"] == index);
    BOOST_TEST(done["finish_reason"] == "cancelled");
    BOOST_TEST(done.contains("final") == (index == 2));
  }
  server.wait_idle();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
