// What we and newer compilers' headers call of the C library, and the one that a release is linked with does not have yet
// (newer_functions.cpp). env/release puts this into that one's <pthread.h>, <semaphore.h> and <sys/stat.h>.
#ifndef REFRAIN_ENV_NEWER_FUNCTIONS_H
#define REFRAIN_ENV_NEWER_FUNCTIONS_H

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#if !__GLIBC_PREREQ(2, 28)
#include <linux/stat.h>
#ifdef __cplusplus
extern "C"
#endif
int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status);
#define AT_STATX_DONT_SYNC 0x4000
#endif

#if !__GLIBC_PREREQ(2, 30)
#ifdef __cplusplus
extern "C" {
#endif
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until);
int sem_clockwait(sem_t* semaphore, clockid_t clock, const struct timespec* until);
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until);
/* Only declared: whoever calls them has to give them a place beside the others. */
int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const struct timespec* until);
int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const struct timespec* until);
#ifdef __cplusplus
}
#endif
#endif

#endif
