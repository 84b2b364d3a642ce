/*
 * Records what a process does to the files below $TRACE_ROOT, in the order in which it happens, for the power-loss
 * test: preloaded into the process (LD_PRELOAD), it wraps the calls of the C library that change files or sync them.
 *
 * A record of the file $TRACE_FILE is: one byte for the operation, a length (u32) and a path, an offset (u64), a length
 * (u64) and data; all numbers in the byte order of the machine. A lock is held from before each call until its record
 * is written, so that the order of the records is the order of the calls.
 *
 * $TRACE_KILL_AT ends the process, as SIGKILL would, instead of the call with that number.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trace_fd = -1;
static const char *root;
static long calls, kill_at;

static ssize_t (*real_write)(int, const void *, size_t);

__attribute__((constructor)) static void start(void) {
    real_write = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    int (*real_open)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    const char *file = getenv("TRACE_FILE");
    const char *kill = getenv("TRACE_KILL_AT");
    root = getenv("TRACE_ROOT");
    if (file && root) trace_fd = real_open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (kill) kill_at = atol(kill);
}

static int is_traced(const char *path) {
    return trace_fd >= 0 && strncmp(path, root, strlen(root)) == 0;
}

/* The path of an open file, if it is traced. Files that were unlinked have none. */
static int path_of(int fd, char *path) {
    char link[64];
    if (trace_fd < 0 || fd == trace_fd) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, 4095);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_traced(path) && !strstr(path, " (deleted)");
}

static void put(const void *data, size_t length) {
    const char *rest = data;
    while (length > 0) {
        ssize_t written = real_write(trace_fd, rest, length);
        if (written <= 0) abort();
        rest += written;
        length -= (size_t)written;
    }
}

static void record(char operation, const char *path, uint64_t offset, const void *data, uint64_t length) {
    uint32_t path_length = (uint32_t)strlen(path);
    put(&operation, 1);
    put(&path_length, sizeof path_length);
    put(path, path_length);
    put(&offset, sizeof offset);
    put(&length, sizeof length);
    if (data) put(data, length);
}

/* To be called with the lock held, before a call that is traced. */
static void count_call(void) {
    if (++calls == kill_at) _exit(137);
}

#define REAL(result, name, ...)                                                    \
    static result (*real)(__VA_ARGS__);                                            \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* Opening: only that a file is new, or is cut to nothing, matters. */
#define OPEN(name)                                                                 \
    int name(const char *path, int flags, ...) {                                   \
        REAL(int, name, const char *, int, ...);                                   \
        va_list rest;                                                              \
        va_start(rest, flags);                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;    \
        va_end(rest);                                                              \
        if (!is_traced(path) || !(flags & (O_CREAT | O_TRUNC)))                    \
            return real(path, flags, mode);                                        \
        pthread_mutex_lock(&lock);                                                 \
        int was_there = access(path, F_OK) == 0;                                   \
        if (!was_there || (flags & O_TRUNC)) count_call();                         \
        int fd = real(path, flags, mode);                                          \
        if (fd >= 0 && !was_there) record('C', path, 0, NULL, 0);                  \
        else if (fd >= 0 && (flags & O_TRUNC)) record('T', path, 0, NULL, 0);      \
        pthread_mutex_unlock(&lock);                                               \
        return fd;                                                                 \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *data, size_t length) {
    char path[4096];
    if (!path_of(fd, path)) return real_write(fd, data, length);
    pthread_mutex_lock(&lock);
    count_call();
    int appends = fcntl(fd, F_GETFL) & O_APPEND;
    off_t offset = lseek(fd, 0, appends ? SEEK_END : SEEK_CUR);
    ssize_t written = real_write(fd, data, length);
    if (written > 0) record('W', path, (uint64_t)offset, data, (uint64_t)written);
    pthread_mutex_unlock(&lock);
    return written;
}

#define PWRITE(name, offset_type)                                                  \
    ssize_t name(int fd, const void *data, size_t length, offset_type offset) {    \
        REAL(ssize_t, name, int, const void *, size_t, offset_type);               \
        char path[4096];                                                           \
        if (!path_of(fd, path)) return real(fd, data, length, offset);             \
        pthread_mutex_lock(&lock);                                                 \
        count_call();                                                              \
        ssize_t written = real(fd, data, length, offset);                          \
        if (written > 0) record('W', path, (uint64_t)offset, data, (uint64_t)written); \
        pthread_mutex_unlock(&lock);                                               \
        return written;                                                            \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(name, offset_type)                                                \
    int name(int fd, offset_type length) {                                         \
        REAL(int, name, int, offset_type);                                         \
        char path[4096];                                                           \
        if (!path_of(fd, path)) return real(fd, length);                           \
        pthread_mutex_lock(&lock);                                                 \
        count_call();                                                              \
        int result = real(fd, length);                                             \
        if (result == 0) record('T', path, (uint64_t)length, NULL, 0);             \
        pthread_mutex_unlock(&lock);                                               \
        return result;                                                             \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

/* Syncing: what was written to this file before is safe once the call returns. */
#define SYNC(name)                                                                 \
    int name(int fd) {                                                             \
        REAL(int, name, int);                                                      \
        char path[4096];                                                           \
        if (!path_of(fd, path)) return real(fd);                                   \
        pthread_mutex_lock(&lock);                                                 \
        count_call();                                                              \
        int result = real(fd);                                                     \
        if (result == 0) record('S', path, 0, NULL, 0);                            \
        pthread_mutex_unlock(&lock);                                               \
        return result;                                                             \
    }
SYNC(fsync)
SYNC(fdatasync)

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    if (!is_traced(path)) return real(path, mode);
    pthread_mutex_lock(&lock);
    count_call();
    int result = real(path, mode);
    if (result == 0) record('D', path, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    if (!is_traced(path)) return real(path);
    pthread_mutex_lock(&lock);
    count_call();
    int result = real(path);
    if (result == 0) record('U', path, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    if (!is_traced(from)) return real(from, to);
    pthread_mutex_lock(&lock);
    count_call();
    int result = real(from, to);
    if (result == 0) record('R', from, 0, to, strlen(to));
    pthread_mutex_unlock(&lock);
    return result;
}

int link(const char *from, const char *to) {
    REAL(int, link, const char *, const char *);
    if (!is_traced(from)) return real(from, to);
    pthread_mutex_lock(&lock);
    count_call();
    int result = real(from, to);
    if (result == 0) record('L', from, 0, to, strlen(to));
    pthread_mutex_unlock(&lock);
    return result;
}
