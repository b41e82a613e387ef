import torch
import torch.nn as nn
import torch.nn.functional as F


class Reconstructor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, width), nn.ReLU())
        self.decoder = nn.Linear(width, 16)

    def forward(self, x):
        latent = self.encoder(x)
        return self.decoder(latent), latent


class SiteClassifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, latent):
        return self.net(latent).squeeze(1)


class LocalUpdate:
    def __init__(self, model, classifier):
        self.model, self.classifier = model, classifier
        self.opt_g = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.opt_d = torch.optim.Adam(classifier.parameters(), lr=2e-3)
        self.history = {"recon": [], "adv": [], "d": []}

    def step(self, source, target):
        recon_s, latent_s = self.model(source)
        recon_t, latent_t = self.model(target)
        zeros, ones = torch.zeros(len(source)), torch.ones(len(target))

        loss_d = F.binary_cross_entropy_with_logits(self.classifier(latent_s.detach()), zeros)
        loss_d = loss_d + F.binary_cross_entropy_with_logits(self.classifier(latent_t.detach()), ones)
        self.opt_d.zero_grad()
        loss_d.backward()
        self.opt_d.step()

        loss_recon = F.l1_loss(recon_s, source) + F.l1_loss(recon_t, target)
        loss_adv_g = F.binary_cross_entropy_with_logits(self.classifier(latent_s), ones)
        self.history["adv"].append(loss_adv_g.detach().item())
        total = loss_recon + 0.5 * loss_adv_g
        self.opt_g.zero_grad()
        total.backward()
        self.opt_g.step()
        self.history["recon"].append(loss_recon.item())
        self.history["d"].append(loss_d.item())


torch.manual_seed(0)
worker = LocalUpdate(Reconstructor(), SiteClassifier())
for step in range(200):
    source = torch.randn(64, 16)
    target = 0.7 * torch.randn(64, 16) + 0.6
    worker.step(source, target)
    if step % 40 == 0:
        print(step, {name: round(values[-1], 4) for name, values in worker.history.items()})
