import torch
import torch.nn as nn
import torch.nn.functional as F


class WorldModel(nn.Module):
    def __init__(self, obs=6, act=2, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(obs + act, hidden, batch_first=True)
        self.head = nn.Linear(hidden, obs)

    def forward(self, obs, act):
        h, _ = self.rnn(torch.cat([obs, act], dim=-1))
        return obs + self.head(h)


def episodes(n, steps, generator):
    g = torch.Generator().manual_seed(3)
    dynamics = torch.eye(6) + 0.15 * torch.randn(6, 6, generator=g)
    control = 0.3 * torch.randn(6, 2, generator=g)
    state = torch.randn(n, 6, generator=generator)
    act = torch.randn(n, steps, 2, generator=generator)
    seen = [state]
    for t in range(steps):
        state = torch.tanh(state @ dynamics.t() + act[:, t] @ control.t())
        seen.append(state)
    obs = torch.stack(seen, dim=1)
    crash = torch.rand(n, generator=generator) < 0.01
    obs[crash, steps // 2 :] += 3000.0
    return obs, act


class Trainer:
    def __init__(self, clip_norm=1.0):
        self.model = WorldModel()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.15, momentum=0.9)
        self.clip_norm = clip_norm

    def training_step(self, obs, act):
        pred = self.model(obs[:, :-1], act)
        loss = F.mse_loss(pred, obs[:, 1:])
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        return loss

    def fit(self, steps):
        generator = torch.Generator().manual_seed(0)
        window, largest = [], 0.0
        for step in range(steps):
            obs, act = episodes(32, 12, generator)
            self.optimizer.zero_grad()
            loss = self.training_step(obs, act)
            loss.backward()
            norm = torch.stack([p.grad.norm() for p in self.model.parameters()]).norm().item()
            self.optimizer.step()
            window.append(loss.item())
            largest = max(largest, norm)
            if step % 80 == 79:
                middle = sorted(window)[len(window) // 2]
                print(f"step {step + 1}: median loss {middle:.4f}  largest gradient norm {largest:.2f}")
                window, largest = [], 0.0


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer().fit(400)
