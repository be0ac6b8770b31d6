/* Fail the n-th call that changes a file or starts a program, in this process and in every program that it starts.
 *
 * Loaded with LD_PRELOAD. The mapped file $FAULTS lists the calls of all processes together and says which one fails,
 * and how; see injector.py for its layout. The C library's own calls (stdio) are not seen; the rename after them is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum action { COUNT, KILL, KILL_GROUP, HALF_WRITE, FAIL, FAIL_FROM, SIGNAL, SIGNAL_GROUP };

enum { LISTED = 4096 };

struct call {
    int pid, kind;
    long held;   /* the stretch in which the first process holds signals back; 0 where it does not */
    long errors; /* bit n: it may fail with error number n */
};

struct plan {
    int armed, action, argument, main_pid;
    long count, target;
    char what[256];
    long stretches, held;
    struct call calls[LISTED];
};

static struct plan *plan;

__attribute__((constructor)) static void map_plan(void) {
    const char *path = getenv("FAULTS");
    int handle = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (handle < 0) return;
    void *mapped = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    close(handle);
    if (mapped != MAP_FAILED) plan = mapped;
}

/* What an error number may come from: a full disk refuses new bytes and names, an interrupt only what can block. */
enum kind { NAMES, BYTES, REMOVES, SYNCS, STARTS };

static int possible(enum kind kind, int error) {
    if (kind == STARTS) return 0;
    if (error == ENOSPC) return kind == NAMES || kind == BYTES;
    if (error == EINTR) return kind == BYTES || kind == SYNCS;
    if (error == EACCES || error == EROFS) return kind == NAMES || kind == REMOVES;
    return 1;
}

static long errors(enum kind kind) {
    long found = 0;
    for (int error = 1; error < 63; error++) found |= (long)possible(kind, error) << error;
    return found;
}

/* Count one call; returns the error number that it fails with, 0 to go on, -1 to write half. */
static int step(const char *call, enum kind kind, const char *path) {
    if (!plan || !plan->armed) return 0;
    long number = __atomic_add_fetch(&plan->count, 1, __ATOMIC_SEQ_CST);
    if (number <= LISTED) plan->calls[number - 1] = (struct call){getpid(), kind, plan->held, errors(kind)};
    int repeated = plan->action == FAIL_FROM && number > plan->target;
    if (repeated && plan->argument == ENOSPC && kind == REMOVES && path && !strcmp(path, "reserved")) {
        plan->armed = 0; /* the disk is not full any more */
        return 0;
    }
    if (number != plan->target && !repeated) return 0;
    if (!repeated) snprintf(plan->what, sizeof plan->what, "%s %s [%d]", call, path ? path : "", getpid());
    switch (plan->action) {
    case KILL: kill(getpid(), SIGKILL); break;
    case KILL_GROUP: kill(0, SIGKILL); break;
    case HALF_WRITE:
        if (kind == BYTES) return -1;
        kill(0, SIGKILL);
        break;
    case FAIL:
    case FAIL_FROM: return possible(kind, plan->argument) ? plan->argument : 0;
    case SIGNAL: kill(plan->main_pid, plan->argument); break;
    case SIGNAL_GROUP: kill(0, plan->argument); break;
    }
    return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define GUARD(kind, path)                                                                                              \
    do {                                                                                                               \
        int failure = step(__func__, kind, path);                                                                      \
        if (failure > 0) {                                                                                             \
            errno = failure;                                                                                           \
            return -1;                                                                                                 \
        }                                                                                                              \
    } while (0)

static int is_file(int handle) {
    struct stat status;
    return plan && plan->armed && fstat(handle, &status) == 0 && S_ISREG(status.st_mode);
}

static const char *name_of(int handle) {
    static __thread char name[200];
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, name, sizeof name - 1);
    name[length < 0 ? 0 : length] = 0;
    return name;
}

#define OPENS(name, before, parameters, arguments)                                                                     \
    int name parameters {                                                                                              \
        mode_t mode = 0;                                                                                               \
        if (flags & (O_CREAT | O_TMPFILE)) {                                                                           \
            va_list list;                                                                                              \
            va_start(list, flags);                                                                                     \
            mode = va_arg(list, mode_t);                                                                               \
            va_end(list);                                                                                              \
        }                                                                                                              \
        if (flags & (O_CREAT | O_TRUNC) && strcmp(path, "/dev/null")) GUARD(NAMES, path);                              \
        return REAL(name) arguments;                                                                                   \
    }
OPENS(open, , (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, , (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, , (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPENS(openat64, , (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

#define FOPENS(name)                                                                                                   \
    FILE *name(const char *path, const char *mode) {                                                                   \
        int failure = *mode == 'r' || !strcmp(path, "/dev/null") ? 0 : step(#name, NAMES, path);                       \
        if (failure > 0) {                                                                                             \
            errno = failure;                                                                                           \
            return NULL;                                                                                               \
        }                                                                                                              \
        return REAL(name)(path, mode);                                                                                 \
    }
FOPENS(fopen)
FOPENS(fopen64)

#define WRITES(name, parameters, whole, half)                                                                          \
    ssize_t name parameters {                                                                                          \
        if (!is_file(handle)) return REAL(name) whole;                                                                 \
        int failure = step(#name, BYTES, name_of(handle));                                                             \
        if (failure == -1) {                                                                                           \
            if (REAL(name) half < 0) abort();                                                                          \
            kill(0, SIGKILL);                                                                                          \
        }                                                                                                              \
        if (failure > 0) {                                                                                             \
            errno = failure;                                                                                           \
            return -1;                                                                                                 \
        }                                                                                                              \
        return REAL(name) whole;                                                                                       \
    }
WRITES(write, (int handle, const void *bytes, size_t size), (handle, bytes, size), (handle, bytes, size / 2))
WRITES(pwrite, (int handle, const void *bytes, size_t size, off_t at), (handle, bytes, size, at),
       (handle, bytes, size / 2, at))
WRITES(pwrite64, (int handle, const void *bytes, size_t size, off64_t at), (handle, bytes, size, at),
       (handle, bytes, size / 2, at))
WRITES(writev, (int handle, const struct iovec *parts, int count), (handle, parts, count), (handle, parts, count / 2))

#define CALL(name, kind, path, parameters, arguments)                                                                  \
    int name parameters {                                                                                              \
        GUARD(kind, path);                                                                                             \
        return REAL(name) arguments;                                                                                   \
    }
#define ON_HANDLE(name, kind, parameters, arguments)                                                                   \
    int name parameters {                                                                                              \
        if (plan && plan->armed) GUARD(kind, name_of(handle));                                                         \
        return REAL(name) arguments;                                                                                   \
    }
CALL(creat, NAMES, path, (const char *path, mode_t mode), (path, mode))
CALL(rename, REMOVES, to, (const char *from, const char *to), (from, to))
CALL(renameat, REMOVES, to, (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL(renameat2, REMOVES, to, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags))
CALL(unlink, REMOVES, path, (const char *path), (path))
CALL(unlinkat, REMOVES, path, (int folder, const char *path, int flags), (folder, path, flags))
CALL(rmdir, REMOVES, path, (const char *path), (path))
CALL(mkdir, NAMES, path, (const char *path, mode_t mode), (path, mode))
CALL(mkdirat, NAMES, path, (int folder, const char *path, mode_t mode), (folder, path, mode))
CALL(link, NAMES, to, (const char *from, const char *to), (from, to))
CALL(linkat, NAMES, to, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CALL(symlink, NAMES, path, (const char *to, const char *path), (to, path))
CALL(symlinkat, NAMES, path, (const char *to, int folder, const char *path), (to, folder, path))
CALL(chmod, REMOVES, path, (const char *path, mode_t mode), (path, mode))
CALL(fchmodat, REMOVES, path, (int folder, const char *path, mode_t mode, int flags), (folder, path, mode, flags))
CALL(truncate, BYTES, path, (const char *path, off_t size), (path, size))
CALL(utimensat, REMOVES, path, (int folder, const char *path, const struct timespec times[2], int flags),
     (folder, path, times, flags))
ON_HANDLE(fchmod, REMOVES, (int handle, mode_t mode), (handle, mode))
ON_HANDLE(fsync, SYNCS, (int handle), (handle))
ON_HANDLE(fdatasync, SYNCS, (int handle), (handle))
ON_HANDLE(ftruncate, BYTES, (int handle, off_t size), (handle, size))
ON_HANDLE(ftruncate64, BYTES, (int handle, off64_t size), (handle, size))

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    int failure = REAL(pthread_sigmask)(how, set, old);
    if (set && plan && plan->armed && gettid() == plan->main_pid) {
        sigset_t now;
        REAL(pthread_sigmask)(SIG_BLOCK, NULL, &now);
        plan->stretches++;
        plan->held = sigismember(&now, SIGTERM) ? plan->stretches : 0;
    }
    return failure;
}

int posix_fallocate(int handle, off_t from, off_t size) {
    int failure = step("posix_fallocate", BYTES, name_of(handle));
    return failure > 0 ? failure : REAL(posix_fallocate)(handle, from, size);
}

int execve(const char *path, char *const argv[], char *const environment[]) {
    char command[200] = "";
    for (int i = 0; argv[i]; i++) snprintf(command + strlen(command), sizeof command - strlen(command), "%s ", argv[i]);
    if (access(path, X_OK) == 0) step("execve", STARTS, command);
    return REAL(execve)(path, argv, environment);
}
