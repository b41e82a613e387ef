import torch

torch.manual_seed(0)


class MetaLearner:
    """Learns a start from which one step on a task's own data gets far."""

    def __init__(self, n_features, inner_lr, meta_lr):
        self.theta = torch.zeros(n_features, 1, requires_grad=True)
        self.inner_lr = inner_lr
        self.optimizer = torch.optim.SGD([self.theta], lr=meta_lr)

    def loss(self, theta, x, y):
        return (x @ theta - y).pow(2).mean()

    def adapt(self, x, y):
        loss_one = self.loss(self.theta, x, y)
        grad = torch.autograd.grad(loss_one, self.theta, create_graph=True)[0]
        return self.theta - self.inner_lr * grad

    def meta_step(self, tasks):
        self.optimizer.zero_grad()
        total = 0.0
        for x, y in tasks:
            theta_two = self.adapt(x[:128], y[:128])
            loss = self.loss(theta_two, x[128:], y[128:]) / len(tasks)
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        return total


def sample_task():
    """The wide tasks and the narrow ones want different weights."""
    wide = torch.rand(()) < 0.5
    spread = torch.tensor([1.9, 1.9]) if wide else torch.tensor([0.6, 0.6])
    weights = torch.tensor([[2.0], [-1.0]]) if wide else torch.tensor([[-2.0], [1.0]])
    x = torch.randn(256, 2) * spread
    return x, x @ weights + 0.05 * torch.randn(256, 1)


learner = MetaLearner(2, inner_lr=0.12, meta_lr=0.05)
history = []
for iteration in range(1, 401):
    history.append(learner.meta_step([sample_task() for _ in range(4)]))
    if iteration % 100 == 0:
        print(f"iteration {iteration}: loss after one step {sum(history[-100:]) / 100:.4f}")
