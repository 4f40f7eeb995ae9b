"""Faults in what the layers of all APIs have in common: layer/common."""
from fault import Fault

FAULTS = [
    Fault("any-event-of-a-wait-list-is-taken-for-the-first", "layer/common/wait_role.h",
          old="kRepeated + place * kFarBack + age", new="kRepeated + age", promise=1,
          seen="A launch that waits for the second event of an earlier launch's list is replayed where it should wait for"
               " the first one."),
    Fault("threads-that-wait-for-one-event-are-in-each-other-s-way", "layer/common/wait_role.h",
          old="(before == 0 || lane_of(before) == lane) && ", new="", promise=0,
          seen="What two threads do that wait for one event is replayed or not, by who comes first."),
    Fault("held-error-hidden-by-that-of-the-call", "layer/common/host_call.h",
          old="held_error_ != 0", new="held_error_ != 0 && status == Status{}", promise=5,
          seen="Held work fails, and so does the call that submits it: the error of the held work is never told."),
    Fault("error-of-held-work-is-not-told", "layer/common/host_call.h",
          old="return reported;", new="return status;", promise=5, statement=True,
          seen="clFinish returns CL_SUCCESS although the driver refused a launch that was held."),
    Fault("what-was-held-at-a-failure-stays-held", "layer/common/host_call.h",
          old="engine_ != nullptr ? flush(*running) : running->flush_all(entry_point)",
          new="engine_ != nullptr ? flush(*running) : 0", promise=7,
          seen="A wait after an internal failure returns before the work that was held is done."),
    Fault("survivor-unclassified-function-flushes-only-its-own-thread", "layer/common/host_call.h",
          old="running->flush_all_silently(entry_point);",
          new="if (const int error = running->flush_own(entry_point); error != 0) {"
              " running->lane().report_later(error); }",
          promise=2, statement=True,
          seen="A function that nobody classified runs before the work that another thread holds."),
    Fault("dormant-lane-overtakes-what-others-hold", "layer/common/submission.h",
          old="running != nullptr && !running->anything_held()", new="running != nullptr", promise=1,
          seen="A thread whose work is not looked at submits to a queue past what another thread holds for it."),
    Fault("calls-that-block-are-no-waits", "layer/common/submission.h",
          old="P::waited();", new="", promise=0, statement=True,
          seen="A program that only waits by reading never gets the memory back that it let go of."),
]
