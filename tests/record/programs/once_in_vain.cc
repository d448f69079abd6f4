// An initialization that ends by an exception, or with its thread, has not been made: somebody makes it again.
#include <mutex>
#include <pthread.h>

static std::once_flag flag;
static int tries, made;

static void throws_first() {
    if (tries++ == 0) throw tries;
    made = 1;
}

static void *call_until_made(void *) {
    for (;;) {
        try {
            std::call_once(flag, throws_first);
            return nullptr;
        } catch (int) {
        }
    }
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t begun;
static int initializations, cleaned;

static void cancelled_first() {
    if (initializations++ == 0) {
        pthread_barrier_wait(&begun);
        for (;;) pthread_testcancel();
    }
}

static void clean(void *) { cleaned = 1; }

static void *initializes(void *) {
    pthread_cleanup_push(clean, nullptr);
    pthread_once(&once, cancelled_first);
    pthread_cleanup_pop(0);
    return nullptr;
}

int main() {
    pthread_t first, second;
    pthread_create(&first, nullptr, call_until_made, nullptr);
    pthread_create(&second, nullptr, call_until_made, nullptr);
    pthread_join(first, nullptr);
    pthread_join(second, nullptr);
    if (!made || tries != 2) return 1;

    pthread_barrier_init(&begun, nullptr, 2);
    pthread_create(&first, nullptr, initializes, nullptr);
    pthread_barrier_wait(&begun);
    // It waits for the first one, or comes after it.
    pthread_create(&second, nullptr, initializes, nullptr);
    pthread_cancel(first);
    void *end;
    pthread_join(first, &end);
    if (end != PTHREAD_CANCELED || !cleaned) return 2;
    pthread_join(second, &end);
    pthread_once(&once, cancelled_first);
    return initializations == 2 && end == nullptr ? 0 : 3;
}
