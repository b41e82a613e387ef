import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(17)


class DeterministicValue(nn.Module):
    def __init__(self, obs_dim=5, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(obs_dim, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, obs):
        features, _ = self.rnn(obs)
        return self.out(features).squeeze(-1)


def collect_episodes(count, max_len=60):
    episodes = []
    for i in range(count):
        length = max_len if i == 0 else int(torch.randint(3, 9, (1,)))
        obs = torch.randn(length, 5)
        rewards = obs[:, 0] * 0.3 + obs[:, 1] * obs[:, 2] * 0.2 + 1.0
        episodes.append({"obs": obs, "rets": rewards.cumsum(0) / 4})
    return episodes


def make_batch(episodes):
    obs = pad_sequence([e["obs"] for e in episodes])
    rets = pad_sequence([e["rets"] for e in episodes])
    out_masks = pad_sequence([torch.ones(len(e["rets"])) for e in episodes])
    return {"obs": obs, "rets": rets, "out_masks": out_masks}


def monte_carlo(vf, batch):
    vs = vf(batch["obs"])
    loss = (vs - batch["rets"]) ** 2
    return torch.sum(loss * batch["out_masks"]) / torch.sum(batch["out_masks"])


def update_vf(vf, optim_vf, batch):
    vf_loss = monte_carlo(vf, batch)
    optim_vf.zero_grad()
    vf_loss.backward()
    optim_vf.step()
    return vf_loss.item()


def step_error(vf, batch):
    with torch.no_grad():
        error = (vf(batch["obs"]) - batch["rets"]) ** 2
    return error[batch["out_masks"] > 0].mean().item()


def main():
    vf = DeterministicValue()
    optim_vf = torch.optim.SGD(vf.parameters(), lr=0.05)
    test = make_batch(collect_episodes(64))
    for epoch in range(120):
        loss = update_vf(vf, optim_vf, make_batch(collect_episodes(32)))
        if epoch % 30 == 0:
            print(f"epoch {epoch}: vf loss {loss:.4f}")
    print(f"vf loss {loss:.4f} error of a step {step_error(vf, test):.4f}")


main()
