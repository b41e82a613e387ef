import torch
import torch.multiprocessing as mp
import torch.nn as nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))

    def forward(self, obs):
        return torch.distributions.Categorical(logits=self.net(obs))


def reward_of(obs, action):
    best = torch.stack([obs[:, 0], obs[:, 1], -obs[:, 0] - obs[:, 1]], 1)
    return best.gather(1, action[:, None]).squeeze(1)


def actor(policy, inbox, outbox, rounds):
    torch.manual_seed(11)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(12)
    for _ in range(rounds):
        policy.load_state_dict(inbox.get())
        obs = torch.randn(128, 4, generator=gen)
        with torch.no_grad():
            dist = policy(obs)
            action = dist.sample()
            logp = dist.log_prob(action)
        outbox.put((obs.numpy(), action.numpy(), logp.numpy()))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    ctx = mp.get_context("spawn")
    rounds = 200
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    inbox, outbox = ctx.Queue(), ctx.Queue()
    child = ctx.Process(target=actor, args=(Policy(), inbox, outbox, rounds))
    child.start()
    history = []
    for step in range(rounds):
        inbox.put({k: v.clone() for k, v in policy.state_dict().items()})
        obs, action, logp = (torch.from_numpy(a.copy()) for a in outbox.get())
        reward = reward_of(obs, action)
        adv = (reward - reward.mean()) / (reward.std() + 1e-6)
        loss = -(logp.requires_grad_() * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(reward.mean().item())
    child.join()
    print(f"reward {sum(history[:10]) / 10:.4f} -> {sum(history[-10:]) / 10:.4f}, exit code {child.exitcode}")
    print("weights", repr(sum(p.double().sum().item() for p in policy.parameters())))


if __name__ == "__main__":
    main()
