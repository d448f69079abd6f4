/* Memory that is out of reach when the recorder looks there: a write that is done, on a page that is protected by a system call
   of the program's own; arguments of clone3 that are nowhere. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int *page;
static int seen, faults;
static volatile int other[64];

/* Past the C library, where nobody sees it. */
static long protect(void *at, long how)
{
	long answer;
	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "a"(SYS_mprotect), "D"(at), "S"(4096L), "d"(how)
			 : "rcx", "r11", "memory");
	return answer;
}

static void handle(int signal)
{
	assert(protect(page, PROT_READ | PROT_WRITE) == 0);
	faults++;
	/* A hook of its own, in the middle of another. */
	seen = page[0];
}

int main(void)
{
	page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_handler = handle;
	assert(sigaction(SIGSEGV, &action, 0) == 0);
	for (int round = 1; round <= 20; round++) {
		for (int i = 0; i < 64; i++)
			other[i] = i;
		page[0] = round;
		protect(page, PROT_NONE);
		other[0] = other[1];
		other[2] = page[0];
	}
	assert(syscall(SYS_clone3, (void *)8, 88) == -1 && errno == EFAULT);
	printf("%d\n", page[0]);
	return 0;
}
