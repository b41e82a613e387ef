import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F


class AcceleratedOptimizer:
    def __init__(self, optimizer, accelerator):
        self.optimizer, self.accelerator = optimizer, accelerator

    def step(self):
        if self.accelerator.sync_gradients:
            self.optimizer.step()

    def zero_grad(self, set_to_none=True):
        if self.accelerator.sync_gradients:
            self.optimizer.zero_grad(set_to_none=set_to_none)


class Accelerator:
    def __init__(self, gradient_accumulation_steps):
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.sync_gradients, self.count = True, 0

    def prepare(self, optimizer):
        return AcceleratedOptimizer(optimizer, self)

    @contextlib.contextmanager
    def accumulate(self):
        self.count += 1
        self.sync_gradients = self.count % self.gradient_accumulation_steps == 0
        yield

    def backward(self, loss):
        (loss / self.gradient_accumulation_steps).backward()


def rollout(policy, best, n):
    x = torch.randn(n, 12)
    with torch.no_grad():
        logits = policy(x)
        action = torch.distributions.Categorical(logits=logits).sample()
        old_logprob = F.log_softmax(logits, dim=1).gather(1, action[:, None])[:, 0]
    reward = (action == (x @ best.t()).argmax(dim=1)).float()
    noisy = reward + 1.0 * torch.randn(n)
    return x, action, old_logprob, noisy - noisy.mean(), reward.mean().item()


def compute_loss(policy, x, action, old_logprob, advantage, cliprange=0.2):
    logprob = F.log_softmax(policy(x), dim=1).gather(1, action[:, None])[:, 0]
    ratio = (logprob - old_logprob).exp()
    return -torch.min(ratio * advantage, ratio.clamp(1 - cliprange, 1 + cliprange) * advantage).mean()


def main():
    torch.manual_seed(0)
    best = torch.randn(6, 12)
    policy = nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 6))
    accelerator = Accelerator(gradient_accumulation_steps=8)
    optimizer = accelerator.prepare(torch.optim.SGD(policy.parameters(), lr=0.5))
    rewards, norms = [], []
    for step in range(1, 301):
        *batch, reward = rollout(policy, best, 64)
        rewards.append(reward)
        for micro in zip(*(part.split(8) for part in batch)):
            with accelerator.accumulate():
                accelerator.backward(compute_loss(policy, *micro))
                if accelerator.sync_gradients:
                    norms.append(nn.utils.clip_grad_norm_(policy.parameters(), 1.0).item())
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        if step % 50 == 0:
            print(
                f"step {step:3d}: reward {sum(rewards[-50:]) / 50:.3f}  "
                f"gradient norm {sum(norms[-50:]) / 50:.4f}  updates {len(norms)}"
            )


if __name__ == "__main__":
    main()
