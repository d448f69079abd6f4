/* System calls that the program makes itself and announces, as `sanitizer/linux_syscall_hooks.h` has it: the kernel reads
 * and writes the program's memory beside another thread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void __sanitizer_syscall_pre_impl_write(long, long, long);
extern void __sanitizer_syscall_post_impl_write(long, long, long, long);
extern void __sanitizer_syscall_pre_impl_read(long, long, long);
extern void __sanitizer_syscall_post_impl_read(long, long, long, long);

static char sent[8], received[8];
static int ends[2];

static void *calls(void *unused)
{
    __sanitizer_syscall_pre_impl_write(ends[1], (long)sent, sizeof sent); /* @sends */
    long result = syscall(SYS_write, ends[1], sent, sizeof sent);
    __sanitizer_syscall_post_impl_write(result, ends[1], (long)sent, sizeof sent);
    __sanitizer_syscall_pre_impl_read(ends[0], (long)received, sizeof received);
    result = syscall(SYS_read, ends[0], received, sizeof received);
    __sanitizer_syscall_post_impl_read(result, ends[0], (long)received, sizeof received); /* @receives */
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, NULL, calls, NULL);
    sent[7] = 1; /* @changes */
    int seen = received[0]; /* @looks */
    (void)seen;
    pthread_join(thread, NULL);
    return 0;
}
