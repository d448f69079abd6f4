// CVE-2019-6974, virt/kvm/kvm_main.c of Linux: a new device's descriptor was given to the process before the device took
// its reference to the virtual machine. Another thread that closes the descriptor in between gives back a reference that
// was never taken; the machine is freed, and the reference then counted in freed memory. The fix counts it first.
#include <pthread.h>
#include <stdlib.h>

struct machine {
    int references;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct machine *descriptor;

static void put(struct machine *machine)
{
    pthread_mutex_lock(&lock);
    int left = --machine->references;
    if (left == 0)
        free(machine); /* @free */
    pthread_mutex_unlock(&lock);
}

static void get(struct machine *machine)
{
    pthread_mutex_lock(&lock);
    machine->references++; /* @use */
    pthread_mutex_unlock(&lock);
}

static void *creates_device(void *argument)
{
    struct machine *machine = argument;
#ifdef FIXED
    get(machine);
#endif
    pthread_mutex_lock(&lock);
    descriptor = machine;
    pthread_mutex_unlock(&lock);
#ifndef FIXED
    get(machine);
#endif
    return NULL;
}

static void *closes(void *argument)
{
    pthread_mutex_lock(&lock);
    struct machine *machine = descriptor;
    descriptor = NULL;
    pthread_mutex_unlock(&lock);
    if (machine)
        put(machine);
    return argument;
}

int main(void)
{
    // The one reference is that of the thread that creates the device, and goes with its own close.
    struct machine *machine = calloc(1, sizeof *machine);
    machine->references = 1;
    pthread_t creator, closer;
    pthread_create(&creator, NULL, creates_device, machine);
    pthread_create(&closer, NULL, closes, NULL);
    pthread_join(creator, NULL);
    pthread_join(closer, NULL);
    return 0;
}
