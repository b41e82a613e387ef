import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


def gmm_loss(batch, mus, sigmas, logpi):
    batch = batch.unsqueeze(-2)
    log_probs = logpi + Normal(mus, sigmas).log_prob(batch).sum(-1)
    return -torch.logsumexp(log_probs, dim=-1).mean()


class MDRNN(nn.Module):
    def __init__(self, latents, actions, hiddens, gaussians):
        super().__init__()
        self.latents, self.gaussians = latents, gaussians
        self.rnn = nn.LSTM(latents + actions, hiddens)
        self.gmm_linear = nn.Linear(hiddens, (2 * latents + 1) * gaussians + 2)

    def forward(self, actions, latents):
        seq_len, bs = actions.size(0), actions.size(1)
        outs, _ = self.rnn(torch.cat([actions, latents], dim=-1))
        gmm_outs = self.gmm_linear(outs)
        stride = self.gaussians * self.latents
        mus = gmm_outs[:, :, :stride].view(seq_len, bs, self.gaussians, self.latents)
        sigmas = torch.exp(
            gmm_outs[:, :, stride : 2 * stride].view(seq_len, bs, self.gaussians, self.latents)
        )
        pi = gmm_outs[:, :, 2 * stride : 2 * stride + self.gaussians].view(seq_len, bs, self.gaussians)
        logpi = F.log_softmax(pi, dim=-2)
        rewards, dones = gmm_outs[:, :, -2], gmm_outs[:, :, -1]
        return mus, sigmas, logpi, rewards, dones


def rollout(seq_len=10, bs=24, latents=3):
    actions = torch.randint(0, 2, (seq_len, bs, 1)).float()
    z = [torch.randn(bs, latents)]
    for t in range(seq_len):
        jump = torch.where(torch.rand(bs, 1) < 0.5, 1.0, -1.0)
        z.append(0.8 * z[-1] + jump * (0.5 + actions[t]) + 0.1 * torch.randn(bs, latents))
    z = torch.stack(z)
    reward = z[1:].mean(-1)
    done = (z[1:, :, 0].abs() > 2).float()
    return z[:-1], actions, reward, done, z[1:]


def get_loss(mdrnn, latent, action, reward, done, latent_next):
    mus, sigmas, logpi, rs, ds = mdrnn(action, latent)
    gmm = gmm_loss(latent_next, mus, sigmas, logpi)
    bce = F.binary_cross_entropy_with_logits(ds, done)
    mse = F.mse_loss(rs, reward)
    return {"gmm": gmm, "bce": bce, "mse": mse, "loss": (gmm + bce + mse) / (latent.size(-1) + 2)}


torch.manual_seed(0)
mdrnn = MDRNN(latents=3, actions=1, hiddens=32, gaussians=5)
optimizer = torch.optim.RMSprop(mdrnn.parameters(), lr=1e-3, alpha=0.9)
for step in range(200):
    losses = get_loss(mdrnn, *rollout())
    optimizer.zero_grad()
    losses["loss"].backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step}", {k: round(v.item(), 4) for k, v in losses.items()})
