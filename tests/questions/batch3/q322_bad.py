import torch
from torch import nn

torch.manual_seed(19)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Sequential(
            nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )
        self.policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))

    def forward(self, obs):
        return self.policy(obs), self.value(obs).squeeze(-1)


class PPOLoss:
    def __init__(self, clip_param=0.3, vf_clip_param=0.2, vf_loss_coeff=1.0):
        self.clip_param = clip_param
        self.vf_clip_param = vf_clip_param
        self.vf_loss_coeff = vf_loss_coeff

    def __call__(self, model, batch):
        logits, value_fn_out = model(batch["obs"])
        logp = torch.distributions.Categorical(logits=logits).log_prob(batch["actions"])
        ratio = torch.exp(logp - batch["logp"])
        advantages = batch["advantages"]
        surrogate = torch.min(
            advantages * ratio, advantages * ratio.clamp(1 - self.clip_param, 1 + self.clip_param)
        )
        vf_loss1 = (value_fn_out - batch["value_targets"]).pow(2)
        vf_clipped = batch["vf_preds"] + torch.clamp(
            value_fn_out - batch["vf_preds"], -self.vf_clip_param, self.vf_clip_param
        )
        vf_loss2 = (vf_clipped - batch["value_targets"]).pow(2)
        vf_loss = torch.max(vf_loss1, vf_loss2)
        return (-surrogate + self.vf_loss_coeff * vf_loss).mean(), vf_loss.mean().item()


def rollout(model, size=512):
    obs = torch.randn(size, 4)
    with torch.no_grad():
        logits, values = model(obs)
        dist = torch.distributions.Categorical(logits=logits)
        actions = dist.sample()
    reward = ((obs[:, 0] > 0).long() == actions).float()
    targets = 20 + 8 * obs[:, 1] + 4 * reward
    advantages = targets - values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return {
        "obs": obs,
        "actions": actions,
        "logp": dist.log_prob(actions),
        "vf_preds": values,
        "value_targets": targets,
        "advantages": advantages,
        "reward": reward.mean().item(),
    }


model, loss_fn = ActorCritic(), PPOLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for iteration in range(15):
    batch = rollout(model)
    for _ in range(8):
        for index in torch.randperm(512).split(128):
            minibatch = {k: v[index] for k, v in batch.items() if k != "reward"}
            loss, vf_loss = loss_fn(model, minibatch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if iteration % 2 == 0:
        print(f"iteration {iteration}: reward {batch['reward']:.3f} vf_loss {vf_loss:.2f}")
