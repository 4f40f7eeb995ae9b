// What clang's thread-safety analysis is told of locks, with the names of its documentation
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html). Nothing for other compilers. env/lint runs the analysis.
#pragma once

#if defined(__clang__)
#define REFRAIN_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define REFRAIN_THREAD_ANNOTATION(x)
#endif

// Of classes: a lock; what holds one as long as it lives.
#define REFRAIN_CAPABILITY(name) REFRAIN_THREAD_ANNOTATION(capability(name))
#define REFRAIN_SCOPED_CAPABILITY REFRAIN_THREAD_ANNOTATION(scoped_lockable)

// Of members: the lock that guards it, or what it points to; which lock is taken first.
#define REFRAIN_GUARDED_BY(lock) REFRAIN_THREAD_ANNOTATION(guarded_by(lock))
#define REFRAIN_PT_GUARDED_BY(lock) REFRAIN_THREAD_ANNOTATION(pt_guarded_by(lock))
#define REFRAIN_ACQUIRED_BEFORE(...) REFRAIN_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))
#define REFRAIN_ACQUIRED_AFTER(...) REFRAIN_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))

// Of functions: what the caller must hold, or must not; what they take and give back.
#define REFRAIN_REQUIRES(...) REFRAIN_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define REFRAIN_EXCLUDES(...) REFRAIN_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define REFRAIN_ACQUIRE(...) REFRAIN_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define REFRAIN_ACQUIRE_SHARED(...) REFRAIN_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define REFRAIN_RELEASE(...) REFRAIN_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define REFRAIN_RELEASE_SHARED(...) REFRAIN_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define REFRAIN_RETURN_CAPABILITY(lock) REFRAIN_THREAD_ANNOTATION(lock_returned(lock))

/// Where the analysis cannot follow: a comment says why it is right all the same.
#define REFRAIN_NO_THREAD_SAFETY_ANALYSIS REFRAIN_THREAD_ANNOTATION(no_thread_safety_analysis)
