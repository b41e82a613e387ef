import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)


class NetG(nn.Module):
    def __init__(self, size=32, nz=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 48), nn.LeakyReLU(0.2), nn.Linear(48, nz))
        self.decoder = nn.Sequential(nn.Linear(nz, 48), nn.LeakyReLU(0.2), nn.Linear(48, size))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class NetD(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(size, 64), nn.LeakyReLU(0.2), nn.Linear(64, 24), nn.Tanh())
        self.classifier = nn.Linear(24, 1)

    def forward(self, x):
        features = self.features(x)
        return self.classifier(features).squeeze(1), features


class AnomalyModel:
    def __init__(self, w_adv=0.1, w_con=1.0, w_lat=200.0):
        self.netg, self.netd = NetG(), NetD()
        self.w_adv, self.w_con, self.w_lat = w_adv, w_con, w_lat
        self.optimizer_g = torch.optim.Adam(self.netg.parameters(), lr=3e-3, betas=(0.5, 0.999))
        self.optimizer_d = torch.optim.Adam(self.netd.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def forward(self, x):
        self.input = x
        self.fake = self.netg(x)
        self.pred_real, self.feat_real = self.netd(x)
        _, self.feat_fake = self.netd(self.fake)

    def update_netg(self):
        self.optimizer_g.zero_grad()
        pred, _ = self.netd(self.fake)
        err_adv = self.w_adv * F.binary_cross_entropy_with_logits(pred, torch.ones_like(pred))
        err_con = self.w_con * F.l1_loss(self.fake, self.input)
        self.err_g_lat = self.w_lat * F.mse_loss(self.feat_fake, self.feat_real.detach())
        err_g = err_adv + err_con + self.err_g_lat
        err_g.backward()
        self.optimizer_g.step()

    def update_netd(self):
        self.optimizer_d.zero_grad()
        pred_fake, _ = self.netd(self.fake.detach())
        err_real = F.binary_cross_entropy_with_logits(self.pred_real, torch.ones_like(self.pred_real))
        err_fake = F.binary_cross_entropy_with_logits(pred_fake, torch.zeros_like(pred_fake))
        (err_real + err_fake).backward()
        self.optimizer_d.step()


mixing = torch.randn(5, 32)


def normal_batch(n):
    return torch.tanh(torch.randn(n, 5) @ mixing * 0.6)


model = AnomalyModel()
for step in range(600):
    model.forward(normal_batch(64))
    model.update_netg()
    model.update_netd()
    if (step + 1) % 200 == 0:
        print(f"step {step + 1}: latent loss {model.err_g_lat.item():.4f}")

with torch.no_grad():
    real = normal_batch(512)
    feat_real, feat_fake = model.netd(real)[1], model.netd(model.netg(real))[1]
print(f"distance of the features of the reconstruction: {F.mse_loss(feat_fake, feat_real).item():.4f}")
