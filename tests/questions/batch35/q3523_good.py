from dataclasses import dataclass

import torch
import torch.nn as nn

torch.manual_seed(2)


@dataclass
class Config:
    steps: int = 500
    batch: int = 128
    lambda_aux: float = 0.5
    k: int = 6
    k_aux: int = 24
    dead_after: int = 20


class TopKCoder(nn.Module):
    def __init__(self, d_in, n_latents, k):
        super().__init__()
        self.k = k
        self.encoder = nn.Linear(d_in, n_latents)
        self.decoder = nn.Linear(n_latents, d_in)
        nn.init.uniform_(self.encoder.bias, -2.0, 0.0)

    def encode(self, x):
        return torch.relu(self.encoder(x))

    def keep_top(self, pre, k):
        values, index = pre.topk(k, dim=-1)
        return torch.zeros_like(pre).scatter(-1, index, values)

    def forward(self, x):
        pre = self.encode(x)
        latents = self.keep_top(pre, self.k)
        return self.decoder(latents), latents


class Trainer:
    def __init__(self, cfg, model, data):
        self.cfg = cfg
        self.model = model
        self.data = data
        self.optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.since_fired = torch.zeros(model.encoder.out_features)

    def aux_loss(self, x, recon):
        dead = self.since_fired > self.cfg.dead_after
        if dead.sum() == 0:
            return torch.zeros(())
        residual = (x - recon).detach()
        pre = self.model.encoder(x).masked_fill(~dead, float("-inf"))
        k = min(self.cfg.k_aux, int(dead.sum()))
        values, index = pre.topk(k, dim=-1)
        latents = torch.zeros_like(pre).scatter(-1, index, values)
        return ((latents @ self.model.decoder.weight.T - residual) ** 2).mean()

    def calculate_loss_and_log(self, x, recon, log):
        reconstruction_loss = ((recon - x) ** 2).mean()
        aux_loss = self.aux_loss(x, recon)
        loss = reconstruction_loss + self.cfg.lambda_aux * aux_loss
        if log:
            log_dict = {"loss": loss.item(), "recon": reconstruction_loss.item(), "aux": aux_loss.item()}
            return loss, log_dict
        return loss, None

    def run_batch(self, step):
        x = self.data[torch.randint(len(self.data), (self.cfg.batch,))]
        recon, latents = self.model(x)
        loss, log_dict = self.calculate_loss_and_log(x, recon, step % 100 == 0)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        fired = (latents > 0).any(0)
        self.since_fired = torch.where(fired, 0.0, self.since_fired + 1)
        if log_dict:
            dead = int((self.since_fired > self.cfg.dead_after).sum())
            print(f"step {step}", {k: round(v, 4) for k, v in log_dict.items()}, "dead", dead)

    def train(self):
        for step in range(self.cfg.steps):
            self.run_batch(step)


def make_activations(count, d_in, n_features):
    directions = nn.functional.normalize(torch.randn(n_features, d_in), dim=1)
    active = (torch.rand(count, n_features) < 0.04) * torch.rand(count, n_features)
    return active @ directions


def main():
    cfg = Config()
    data = make_activations(4096, 24, 96)
    model = TopKCoder(24, 256, cfg.k)
    trainer = Trainer(cfg, model, data)
    trainer.train()
    with torch.no_grad():
        recon, latents = model(data)
        dead = int((~(latents > 0).any(0)).sum())
        print(
            f"unexplained {((recon - data) ** 2).sum().item() / (data**2).sum().item():.4f} dead latents {dead}"
        )


main()
