import copy

import torch
import torch.nn as nn
from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(12)


class QNet(nn.Module):
    def __init__(self, obs=6, act=2, hidden=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(obs + act, hidden),
            nn.Dropout(0.05),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], -1)).squeeze(-1)


class QEnsembleLoss:
    def __init__(self, count, gamma=0.9):
        self.gamma = gamma
        nets = [QNet() for _ in range(count)]
        self.params, self.buffers = stack_module_state(nets)
        self.target_params = {name: p.detach().clone() for name, p in self.params.items()}
        self.base = copy.deepcopy(nets[0]).to("meta")
        self.vmap_qvalue = vmap(self.qvalue, (0, None, None), randomness="different")

    def qvalue(self, params, obs, act):
        return functional_call(self.base, params, (obs, act))

    def __call__(self, batch):
        with torch.no_grad():
            next_q = self.vmap_qvalue(self.target_params, batch["next_obs"], batch["next_act"]).amin(0)
            target = batch["reward"] + self.gamma * (1 - batch["done"]) * next_q
        q = self.vmap_qvalue(self.params, batch["obs"], batch["act"])
        return ((q - target) ** 2).mean(1).sum()

    def update_target(self, tau=0.02):
        for name, p in self.params.items():
            self.target_params[name].lerp_(p.detach(), tau)


def make_batch(size=128):
    obs, next_obs = torch.randn(2, size, 6)
    act, next_act = torch.rand(2, size, 2) * 2 - 1
    reward = obs[:, 0] * act[:, 0] - act[:, 1] ** 2
    done = (torch.rand(size) < 0.5).float()
    return {
        "obs": obs,
        "act": act,
        "reward": reward,
        "done": done,
        "next_obs": next_obs,
        "next_act": next_act,
    }


def main():
    loss_module = QEnsembleLoss(4)
    optimizer = torch.optim.Adam(loss_module.params.values(), lr=3e-3)
    for step in range(250):
        loss = loss_module(make_batch())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_module.update_target()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    print(f"loss {loss.item():.3f}")


main()
