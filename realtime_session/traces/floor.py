"""Who had the floor: overlap between caller and agent, false and missed interruptions (contract 7).

Intervals are half-open, in ms. The caller's come from frames with speech, the agent's from reported
playback or, without reports, from the estimate that queued audio plays in real time.
"""
from __future__ import annotations

from collections import deque

_JOIN_MS = 300        # shorter pauses do not end a side's stretch of speech
_MISSED_MS = 1000     # so much speech over sounding audio asks for an interrupt
_REMEMBERED = 64
_FALSE_INTENTS = ("backchannel", "noise")


class Floor:
    """Accumulates overlap and interruption counts from intervals that arrive in order of time."""

    def __init__(self):
        self.by_caller_ms = self.by_agent_ms = 0
        self.caller_known = self.agent_known = False
        self.interrupts = self.missed = 0
        self.intents = {}              # turn id -> annotated intent
        self._agent = deque()          # [start, end or None while reported sounding, response id]
        self._caller = (0, 0)          # the last frame
        self._caller_start = self._agent_start = 0
        self._agent_end = -_JOIN_MS - 1
        self._over_ms = 0              # caller speech over the audio now sounding
        self._uncommitted = 0          # interrupts that no commit has followed
        self._turn_of = {}             # the events that began recent turns -> turn id
        self._interrupted = {}         # turn ids that interrupts opened (values unused)
        self._frames = False

    def begins(self, event_id, turn_id):
        """An event that an annotated intent may be about."""
        self._turn_of[event_id] = turn_id
        if len(self._turn_of) > _REMEMBERED:
            del self._turn_of[next(iter(self._turn_of))]

    def frame(self, start, end):
        """A frame with speech; frames are better evidence than the detector."""
        self._frames = True
        self.caller(start, end)

    def detected(self, start, end):
        """Speech between the detector's onset and offset."""
        if not self._frames:
            self.caller(start, end)

    def caller(self, start, end):
        """A stretch of the caller's speech."""
        self.caller_known = True
        if start > self._caller[1] + _JOIN_MS or not self._caller[1]:
            self._caller_start = start
        self._caller = (start, end)
        agent = self._agent
        if not agent:
            return
        while agent and agent[0][1] is not None and agent[0][1] <= start:
            agent.popleft()
        over = 0
        for a_start, a_end, _ in agent:
            over += max(0, (end if a_end is None else min(end, a_end)) - max(start, a_start))
        if over:
            self._charge(over)

    def _charge(self, over):
        if self._caller_start >= self._agent_start:
            self.by_caller_ms += over
            self._over_ms += over
        else:
            self.by_agent_ms += over

    def agent(self, response_id, start, end):
        """Audio that will sound from start to end unless it is stopped."""
        self.agent_known = True
        if start > self._agent_end + _JOIN_MS:
            self._agent_start = start
        self._agent_end = end
        last = self._agent[-1] if self._agent else None
        if last is not None and last[2] == response_id and last[1] == start:
            last[1] = end
        else:
            self._agent.append([start, end, response_id])
        if self._caller[1] > start:
            over = min(end, self._caller[1]) - max(start, self._caller[0])
            if over > 0:
                self._charge(over)

    def reported(self, response_id, at_ms):
        """The response is reported sounding: reports replace estimates."""
        self.agent_known = True
        for _, end, known in self._agent:
            if end is None and known == response_id:
                return
        self._agent = deque(kept for kept in self._agent if kept[2] != response_id)
        if not self._agent:
            self._agent_start = at_ms
        self._agent.append([at_ms, None, response_id])
        over = self._caller[1] - max(at_ms, self._caller[0])
        if over > 0:
            self._charge(over)

    def silent(self, response_id, at_ms):
        """The response is reported stopped or cleared."""
        self._drop(response_id, at_ms)
        self._agent_end = at_ms

    def _drop(self, response_id, at_ms):
        kept = deque()
        for start, end, r in self._agent:
            if r != response_id:
                kept.append([start, end, r])
            elif start < at_ms:
                kept.append([start, at_ms if end is None else min(end, at_ms), r])
        self._agent = kept

    def stopped(self, at_ms):
        """All audio stops: barge-in, disconnect, timeout, transfer."""
        for response_id in {r for _, _, r in self._agent}:
            self._drop(response_id, at_ms)
        self._agent_end = at_ms

    def interrupted(self, event_id, turn_id, at_ms):
        """A user.interrupt was taken."""
        self.interrupts += 1
        self._uncommitted += 1
        self._over_ms = 0
        self.begins(event_id, turn_id)
        self._interrupted[turn_id] = None
        self.stopped(at_ms)

    def committed(self):
        """A turn was committed: the interrupts before it were real."""
        self._uncommitted = 0

    def response(self):
        """A new response: speech over the old one that led to no interrupt was missed."""
        if self._over_ms >= _MISSED_MS:
            self.missed += 1
        self._over_ms = 0

    def intent(self, about, value):
        """An annotated intent of the turn that the event `about` began."""
        turn_id = self._turn_of.get(about)
        if turn_id is not None and value.__class__ is str:
            self.intents[turn_id] = value

    def totals(self):
        """(false interruptions, missed interruptions) as of now."""
        if self.intents:
            false = sum(1 for t in self._interrupted if self.intents.get(t) in _FALSE_INTENTS)
            return false, sum(1 for t, v in self.intents.items() if v == "barge-in" and t not in self._interrupted)
        return self._uncommitted, self.missed + (1 if self._over_ms >= _MISSED_MS else 0)
