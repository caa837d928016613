// Outbox: batches of events, one post per executor and tick.
#include "actors/outbox.hpp"

#include <iterator>
#include <utility>

#include "actors/prefetch.hpp"

namespace tickertape::actors {
namespace {

// Events ahead of the present one, at which a recipient's front is asked for, and what it refers to
// once that is there (tried with bench/tick_to_reader).
constexpr std::size_t kFar = 12;
constexpr std::size_t kNear = 6;
constexpr std::size_t kRecipientFront = 192;

}  // namespace

Outbox::Outbox(std::shared_ptr<runtime::Poster> poster) : poster_(std::move(poster)) {
  runtime::Work::run = [](runtime::Work* work) { static_cast<Outbox*>(work)->drain(); };
  poster_->set_shutdown_listener(this);
}

Outbox::~Outbox() {
  poster_->set_shutdown_listener(nullptr);
}

std::uint64_t Outbox::attach(std::weak_ptr<Recipient> recipient) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t key = next_key_++;
  recipients_.emplace(key, std::move(recipient));
  return key;
}

void Outbox::detach(std::uint64_t key) noexcept {
  const std::lock_guard lock(mutex_);
  recipients_.erase(key);
}

void Outbox::stage(std::shared_ptr<Recipient> recipient, StreamEvent event) {
  staged_.push_back(Item{std::move(recipient), std::move(event)});
}

void Outbox::flush() {
  std::vector<Item> dropped;  // Destroyed without the lock: a stream's last reference may be here.
  bool must_post = false;
  {
    const std::lock_guard lock(mutex_);
    if (dead_) {
      dropped.swap(staged_);
    } else {
      if (pending_.empty()) {
        pending_.swap(staged_);
      } else {
        std::move(staged_.begin(), staged_.end(), std::back_inserter(pending_));
        staged_.clear();
      }
      must_post = claim_post();
    }
  }
  if (must_post) post();
}

bool Outbox::poke(std::shared_ptr<Recipient> recipient) {
  bool must_post = false;
  {
    const std::lock_guard lock(mutex_);
    if (dead_) return false;
    pending_.push_back(Item{std::move(recipient), StreamEvent(StreamEvent::Kind::poke, 0)});
    must_post = claim_post();
  }
  return !must_post || post();
}

bool Outbox::claim_post() {
  if (posted_ || dead_ || pending_.empty()) return false;
  posted_ = true;
  self_ = shared_from_this();
  return true;
}

bool Outbox::post() {
  // Without the lock: a poster that finds its context gone may tell us so from in here.
  if (poster_->post(this)) return true;
  context_shutdown();
  return false;
}

void Outbox::drain() {
  std::shared_ptr<Outbox> self;
  {
    const std::lock_guard lock(mutex_);
    drained_.swap(pending_);
    self = std::move(self_);
  }
  // Ends the drain also when a handler throws: what is left goes to the front of the next one, and
  // the exception leaves through the executor's run().
  struct Rest {
    Outbox& outbox;
    std::size_t num_done = 0;
    ~Rest() { outbox.end_drain(num_done); }
  } rest{*this};
  RequestOutput output;
  Item* const items = drained_.data();
  const std::size_t count = drained_.size();
  while (rest.num_done < count) {
    // Ten thousand streams are in no cache: the memory of the next ones is fetched meanwhile.
    Item& item = items[rest.num_done++];
    const std::size_t left = count - rest.num_done;
    if (left > kFar) prefetch_lines((&item)[kFar].recipient.get(), kRecipientFront);
    if (left > kNear) (&item)[kNear].recipient->prefetch();
    item.recipient->deliver(item.event, output);
  }
}

void Outbox::end_drain(std::size_t num_done) {
  const auto first_left = drained_.begin() + static_cast<std::ptrdiff_t>(num_done);
  std::vector<Item> left(std::make_move_iterator(first_left),
                         std::make_move_iterator(drained_.end()));
  drained_.clear();  // Without the lock: a stream's last reference may be here.
  bool must_post = false;
  {
    const std::lock_guard lock(mutex_);
    posted_ = false;
    if (dead_) return;
    pending_.insert(pending_.begin(), std::make_move_iterator(left.begin()),
                    std::make_move_iterator(left.end()));
    must_post = claim_post();
  }
  if (must_post) post();
}

void Outbox::context_shutdown() noexcept {
  std::vector<Item> dropped;
  std::vector<std::shared_ptr<Recipient>> recipients;
  std::shared_ptr<Outbox> self;
  {
    const std::lock_guard lock(mutex_);
    dead_ = true;
    dropped.swap(pending_);
    self.swap(self_);
    for (const auto& [key, weak] : recipients_) {
      if (auto recipient = weak.lock()) recipients.push_back(std::move(recipient));
    }
    recipients_.clear();
  }
  for (const auto& recipient : recipients) recipient->abandon();
}

}  // namespace tickertape::actors
