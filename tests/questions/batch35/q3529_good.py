import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


class FlowModel(nn.Module):
    def __init__(self, n_res=6, hidden=64):
        super().__init__()
        self.n_res = n_res
        self.net = nn.Sequential(
            nn.Linear(n_res * 3 + 1, hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            nn.Linear(hidden, n_res * 3),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x.flatten(1), t], 1)).view(-1, self.n_res, 3)


class FlowModule:
    def __init__(self, training_loss="se3_vf_loss", aux_weight=0.25, lr=2e-3):
        self.training_loss = training_loss
        self.aux_weight = aux_weight
        self.model = FlowModel()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)

    def corrupt(self, clean):
        t = torch.rand(len(clean), 1)
        noise = torch.randn_like(clean)
        return (1 - t[..., None]) * noise + t[..., None] * clean, t

    def model_step(self, batch):
        noisy, t = self.corrupt(batch)
        pred = self.model(noisy, t)
        trans_loss = ((pred - batch) ** 2).sum(-1).mean(-1)
        rots_loss = (F.normalize(pred, dim=-1) - F.normalize(batch, dim=-1)).pow(2).sum(-1).mean(-1)
        bb_loss = (pred[:, 1:] - pred[:, :-1] - batch[:, 1:] + batch[:, :-1]).pow(2).sum(-1).mean(-1)
        dist_loss = (torch.cdist(pred, pred) - torch.cdist(batch, batch)).pow(2).mean((1, 2))
        auxiliary_loss = self.aux_weight * (bb_loss + dist_loss)
        se3_vf_loss = trans_loss + rots_loss
        return {
            "trans_loss": trans_loss.mean(),
            "rots_loss": rots_loss.mean(),
            "auxiliary_loss": auxiliary_loss.mean(),
            "se3_vf_loss": se3_vf_loss.mean(),
        }

    def training_step(self, batch):
        total_losses = self.model_step(batch)
        train_loss = total_losses[self.training_loss] + total_losses["auxiliary_loss"]
        return train_loss, total_losses

    def fit(self, data, steps):
        for step in range(steps):
            batch = data[torch.randint(len(data), (64,))]
            loss, parts = self.training_step(batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 100 == 0:
                named = {name: round(value.item(), 3) for name, value in parts.items()}
                wanted = parts["trans_loss"] + parts["rots_loss"] + parts["auxiliary_loss"]
                print(f"step {step}: loss {loss.item():.3f}, sum of its parts {wanted.item():.3f}", named)


def make_backbones(count, n_res=6):
    angle = torch.rand(count, 1) * 6.28 + torch.arange(n_res) * 1.7
    return torch.stack(
        [angle.cos() * 2, angle.sin() * 2, torch.arange(n_res).expand(count, -1) * 0.5 - 1.2], -1
    )


FlowModule().fit(make_backbones(2048), 401)
