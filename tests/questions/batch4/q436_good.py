import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class EMAModel:
    def __init__(self, parameters, decay=0.995):
        self.shadow_params = [p.clone().detach() for p in parameters]
        self.decay = decay
        self.optimization_step = 0

    def get_decay(self, optimization_step):
        value = (1 + optimization_step) / (10 + optimization_step)
        return 1 - min(self.decay, value)

    @torch.no_grad()
    def step(self, parameters):
        parameters = list(parameters)
        self.optimization_step += 1
        decay = self.get_decay(self.optimization_step)
        for s_param, param in zip(self.shadow_params, parameters, strict=True):
            if param.requires_grad:
                s_param.sub_(decay * (s_param - param))
            else:
                s_param.copy_(param)

    @torch.no_grad()
    def copy_to(self, parameters):
        for s_param, param in zip(self.shadow_params, parameters, strict=True):
            param.copy_(s_param)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, noisy, t):
        return self.net(torch.cat([noisy, t], 1))


def training_loss(model, x):
    t = torch.rand(len(x), 1)
    noise = torch.randn_like(x)
    noisy = (1 - t).sqrt() * x + t.sqrt() * noise
    return F.mse_loss(model(noisy, t), noise)


def sample_data(n):
    angle = 6.2832 * torch.rand(n, 1)
    return torch.cat([angle.cos(), angle.sin()], 1)


unet = Denoiser()
ema_unet = EMAModel(unet.parameters())
optimizer = torch.optim.Adam(unet.parameters(), lr=1e-2)
for global_step in range(1200):
    loss = training_loss(unet, sample_data(16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema_unet.step(unet.parameters())
    if global_step % 200 == 199:
        print(f"step {global_step + 1}: loss {loss.item():.4f}")

averaged = copy.deepcopy(unet)
ema_unet.copy_to(averaged.parameters())
with torch.no_grad():
    x = sample_data(20000)
    torch.manual_seed(1)
    online = training_loss(unet, x).item()
    torch.manual_seed(1)
    print(f"evaluation: online model {online:.4f}, averaged model {training_loss(averaged, x).item():.4f}")
