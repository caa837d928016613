"""Contiguous: an offline model of caches before paging, beside a paged one, on the same passes.

The engine has no contiguous allocator, so this one is a model of its own: a line of token places, runs of it
taken first fit, a tick a token for everybody who runs. Its passes take what the program's roofline says of a
7B shape on an A100; the two kinds that the engine does have show how near it comes (memory.allocators).
"""
import bisect
import dataclasses

BUDGET = 512  # Tokens of a pass.
# Of include/tickertape/simulated.hpp with the figures of kernels/fake/simulated_shapes.cpp.
BYTES_PER_S, FLOPS_PER_S = 0.9 * 2039e9, 0.8 * 312e12
WEIGHTS = 32 * (4 * 4096 ** 2 + 3 * 4096 * 11008) + 32000 * 4096
KV_BYTES = 2 * 2 * 32 * 4096
FIXED_S = 0.2e-3 + 32 * 5e-6


def pass_s(num_tokens, context):
    matrices = max(2 * WEIGHTS / BYTES_PER_S, 2 * WEIGHTS * num_tokens / FLOPS_PER_S)
    return FIXED_S + matrices + KV_BYTES * (context + num_tokens) / BYTES_PER_S


class Line:
    """Places of memory, with its free runs by where they begin."""

    def __init__(self, size):
        self.size = size
        self._free = [(0, size)]

    def take(self, size):
        """Where the first run that is long enough begins; None when there is none."""
        for place, (start, length) in enumerate(self._free):
            if length < size:
                continue
            self._free[place:place + 1] = [(start + size, length - size)] if length > size else []
            return start
        return None

    def give_back(self, start, size):
        place = bisect.bisect(self._free, (start, 0))
        if place < len(self._free) and start + size == self._free[place][0]:
            size += self._free.pop(place)[1]
        if place > 0 and sum(self._free[place - 1]) == start:
            before = self._free.pop(place - 1)
            start, size, place = before[0], size + before[1], place - 1
        self._free.insert(place, (start, size))

    def free(self):
        return sum(length for _, length in self._free)

    def largest(self):
        return max((length for _, length in self._free), default=0)


@dataclasses.dataclass
class Sequence:
    prompt: int
    answer: int
    computed: int = 0
    generated: int = 0
    start: int = 0
    room: int = 0

    @property
    def known(self):
        return self.prompt + self.generated


class MaxLen:
    """Room for the longest sequence that there may be."""
    def __init__(self, most):
        self._most = most

    def first(self, _):
        return self._most


class TrueLength:
    """Room for what it will come to: more than anybody can know."""
    def first(self, sequence):
        return sequence.prompt + sequence.answer


class Growing:
    """Room for what it has; when that is full, twice as much elsewhere, and a copy."""
    def first(self, sequence):
        room = 64
        while room <= sequence.known:
            room *= 2
        return room


class Paged:
    """Pages of 16 places: a run is as good as another, so only their number counts."""
    PAGE = 16

    def first(self, sequence):
        return -(-(sequence.known + 1) // self.PAGE) * self.PAGE


class Model:
    def __init__(self, kind, num_places, lengths, max_num_seqs=256):
        self._kind = kind
        self._line = Line(num_places)
        self._paged_free = num_places
        self._waiting = [Sequence(prompt, answer) for prompt, answer in reversed(lengths)]
        self._running = []
        self._max_num_seqs = max_num_seqs
        self.seconds = 0.0
        self.tokens = 0
        self.preemptions = 0
        self.timeline = []  # Seconds, running, free places, the largest free run, places with a token.

    def _take(self, sequence, room):
        if isinstance(self._kind, Paged):
            if self._paged_free < room:
                return False
            self._paged_free -= room
        else:
            start = self._line.take(room)
            if start is None:
                return False
            sequence.start = start
        sequence.room = room
        return True

    def _give_back(self, sequence):
        if isinstance(self._kind, Paged):
            self._paged_free += sequence.room
        else:
            self._line.give_back(sequence.start, sequence.room)

    def _preempt_youngest(self):
        victim = self._running.pop()
        self._give_back(victim)
        victim.computed = 0
        self._waiting.append(victim)
        self.preemptions += 1
        return victim

    def _grow(self, sequence):
        """False: it was preempted itself."""
        room = self._kind.first(sequence)
        if room <= sequence.room:
            return True
        if isinstance(self._kind, Paged):
            while self._paged_free < room - sequence.room:
                if self._preempt_youngest() is sequence:
                    return False
            self._paged_free -= room - sequence.room
            sequence.room = room
            return True
        old = (sequence.start, sequence.room)
        while not self._take(sequence, room):  # The old run is there until all is copied.
            if self._preempt_youngest() is sequence:
                return False
        self._line.give_back(*old)
        return True

    def _admit(self, grown):
        while grown and self._waiting and len(self._running) < self._max_num_seqs:
            if not self._take(self._waiting[-1], self._kind.first(self._waiting[-1])):
                return
            self._running.append(self._waiting.pop())

    def run(self):
        while self._waiting or self._running:
            before = self.preemptions
            grows = isinstance(self._kind, (Growing, Paged))
            for sequence in list(self._running):
                if grows and any(one is sequence for one in self._running):
                    self._grow(sequence)
            self._admit(self.preemptions == before)
            self._pass()
        return self

    def _pass(self):
        budget, context, computed = BUDGET, 0, 0
        decodes = [one for one in self._running if one.known - one.computed == 1]
        prefills = [one for one in self._running if one.known - one.computed != 1]
        ended = set()
        for sequence in decodes + prefills:
            count = min(sequence.known - sequence.computed, budget)
            if count == 0:
                continue
            budget -= count
            computed += count
            context += sequence.computed
            sequence.computed += count
            if sequence.computed == sequence.known:
                sequence.generated += 1
                self.tokens += 1
                if sequence.generated == sequence.answer:
                    ended.add(id(sequence))
        held = sum(one.room for one in self._running)
        filled = sum(one.computed for one in self._running)
        free = self._paged_free if isinstance(self._kind, Paged) else self._line.free()
        largest = free if isinstance(self._kind, Paged) else self._line.largest()
        self.timeline.append((pass_s(computed, context), len(self._running), free, largest, held, filled,
                              bool(self._waiting)))
        self.seconds += self.timeline[-1][0]
        for sequence in self._running:
            if id(sequence) in ended:
                self._give_back(sequence)
        self._running = [one for one in self._running if id(one) not in ended]

    def mean(self, value):
        """Over the time in which somebody waits."""
        busy = [row for row in self.timeline if row[-1]]
        return sum(row[0] * value(row) for row in busy) / sum(row[0] for row in busy)
