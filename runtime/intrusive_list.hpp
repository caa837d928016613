// IntrusiveList: a list whose links live in its elements, so that joining and leaving never
// allocate.
#pragma once

namespace tickertape::runtime {

template <class T>
class IntrusiveList;

/// Base of a T that can be in one IntrusiveList<T>. Leaves the list when destroyed.
template <class T>
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  [[nodiscard]] bool linked() const noexcept { return next_ != nullptr; }

  void unlink() noexcept {
    if (next_ == nullptr) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = nullptr;
  }

 private:
  friend class IntrusiveList<T>;
  ListNode* prev_ = nullptr;
  ListNode* next_ = nullptr;
};

/// Does not own its elements: those that remain at its end are only unlinked.
template <class T>
class IntrusiveList {
 public:
  IntrusiveList() noexcept { ends_.prev_ = ends_.next_ = &ends_; }
  ~IntrusiveList() {
    while (!empty()) front().ListNode<T>::unlink();
    ends_.prev_ = ends_.next_ = nullptr;
  }

  [[nodiscard]] bool empty() const noexcept { return ends_.next_ == &ends_; }
  /// REQUIRES: !empty().
  [[nodiscard]] T& front() noexcept { return static_cast<T&>(*ends_.next_); }
  /// REQUIRES: !empty().
  [[nodiscard]] T& back() noexcept { return static_cast<T&>(*ends_.prev_); }

  /// REQUIRES: the element is in no list.
  void push_back(T& element) noexcept {
    ListNode<T>& node = element;
    node.prev_ = ends_.prev_;
    node.next_ = &ends_;
    ends_.prev_->next_ = &node;
    ends_.prev_ = &node;
  }

 private:
  ListNode<T> ends_;
};

}  // namespace tickertape::runtime
