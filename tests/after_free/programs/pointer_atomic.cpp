// As pointer_atomic.c, in C++: without optimization, `load` is a function that returns what it has read.
#include <atomic>
#include <pthread.h>

struct session {
    int messages;
};

static session only;
static std::atomic<session *> current{&only};

static void *close_session(void *argument)
{
    current.store(nullptr); /* @clear */
    return argument;
}

static void *serve(void *argument)
{
    int messages = current.load()->messages; /* @use */
    return messages > 1000 ? argument : nullptr;
}

int main()
{
    pthread_t closer, server;
    pthread_create(&server, nullptr, serve, nullptr);
    pthread_create(&closer, nullptr, close_session, nullptr);
    pthread_join(server, nullptr);
    pthread_join(closer, nullptr);
    return 0;
}
