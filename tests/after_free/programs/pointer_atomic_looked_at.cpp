// The harmless twin of pointer_atomic.cpp: who finds no session serves none.
#include <atomic>
#include <pthread.h>

struct session {
    int messages;
};

static session only;
static std::atomic<session *> current{&only};

static void *close_session(void *argument)
{
    current.store(nullptr);
    return argument;
}

static void *serve(void *argument)
{
    session *found = current.load();
    if (!found)
        return nullptr;
    return found->messages > 1000 ? argument : nullptr;
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
