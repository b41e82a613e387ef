import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)

LENGTH = 32


def make(n):
    f0 = torch.rand(n, 1) * 3 + 1
    t = torch.linspace(0, 3.14, LENGTH)[None]
    wave = torch.sin(f0 * t) + 0.3 * torch.sin(2 * f0 * t)
    content = torch.cat([f0, f0 ** 2 / 8, torch.randn(n, 6) * 0.3], dim=1)
    return TensorDataset(content, wave)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.1),
                                 nn.Linear(64, 64), nn.LeakyReLU(0.1), nn.Linear(64, LENGTH))

    def forward(self, c):
        return self.net(c)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 8, 5, 2, 2), nn.LeakyReLU(0.1),
                                 nn.Conv1d(8, 16, 5, 2, 2), nn.LeakyReLU(0.1), nn.Flatten(),
                                 nn.Linear(16 * LENGTH // 4, 1))

    def forward(self, w):
        return self.net(w.unsqueeze(1))


class VitsModule:
    def __init__(self, learning_rate, lr_decay, c_mel):
        self.net_g = Generator()
        self.net_d = Discriminator()
        self.c_mel = c_mel
        self.optim_g = torch.optim.AdamW(self.net_g.parameters(), learning_rate, betas=(0.8, 0.99))
        self.optim_d = torch.optim.AdamW(self.net_d.parameters(), learning_rate, betas=(0.8, 0.99))
        self.scheduler_g = torch.optim.lr_scheduler.ExponentialLR(self.optim_g, gamma=lr_decay)
        self.scheduler_d = torch.optim.lr_scheduler.ExponentialLR(self.optim_d, gamma=lr_decay)

    def training_step(self, batch):
        content, y = batch
        y_hat = self.net_g(content)
        y_d_r = self.net_d(y)
        y_d_g = self.net_d(y_hat.detach())
        loss_disc = ((1 - y_d_r) ** 2).mean() + (y_d_g ** 2).mean()
        self.optim_d.zero_grad()
        loss_disc.backward()
        self.optim_d.step()

        loss_mel = F.l1_loss(y_hat, y) * self.c_mel
        loss_gen = ((1 - self.net_d(y_hat)) ** 2).mean()
        loss_gen_all = loss_gen + loss_mel
        self.optim_g.zero_grad()
        loss_gen_all.backward()
        self.optim_g.step()
        return loss_disc.item(), loss_gen.item(), loss_mel.item()

    def validate(self, loader):
        self.net_g.eval()
        with torch.no_grad():
            losses = [F.l1_loss(self.net_g(c), y).item() for c, y in loader]
        self.net_g.train()
        return sum(losses) / len(losses)

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            logs = [self.training_step(batch) for batch in train_loader]
            d, g, m = [sum(v) / len(v) for v in zip(*logs)]
            print(f"epoch {epoch} disc {d:.3f} gen {g:.3f} mel {m:.3f} val l1 "
                  f"{self.validate(val_loader):.4f} lr {self.optim_g.param_groups[0]['lr']:.6f}")


train_loader = DataLoader(make(480), batch_size=24, shuffle=True)
val_loader = DataLoader(make(120), batch_size=60)
VitsModule(learning_rate=2e-2, lr_decay=0.85, c_mel=10.0).fit(train_loader, val_loader, 18)
