import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 48), nn.ReLU())
        self.hm = nn.Linear(48, 1)
        self.wh = nn.Linear(48, 2)
        self.id = nn.Linear(48, 16)

    def forward(self, x):
        h = self.shared(x)
        return {"hm": self.hm(h), "wh": self.wh(h), "id": self.id(h)}


class MotLoss(nn.Module):
    def __init__(self, n_id):
        super().__init__()
        self.classifier = nn.Linear(16, n_id)
        self.s_det = nn.Parameter(-1.85 * torch.ones(1))
        self.s_id = nn.Parameter(-1.05 * torch.ones(1))

    def forward(self, outputs, batch):
        hm_loss = F.binary_cross_entropy_with_logits(outputs["hm"].squeeze(1), batch["hm"])
        wh_loss = F.l1_loss(outputs["wh"], batch["wh"])
        id_loss = F.cross_entropy(self.classifier(F.normalize(outputs["id"]) * 4), batch["ids"])
        det_loss = hm_loss + 0.1 * wh_loss
        loss = torch.exp(-self.s_det) * det_loss + torch.exp(-self.s_id) * id_loss + (self.s_det + self.s_id)
        loss = (loss * 0.5).sum()
        return loss, {"det": det_loss.item(), "id": id_loss.item()}


class MotTrainer:
    def __init__(self, model, optimizer, n_id):
        self.model, self.optimizer = model, optimizer
        self.loss = MotLoss(n_id)

    def train(self, epoch, loader):
        det = ids = 0.0
        for batch in loader:
            loss, stats = self.loss(self.model(batch["input"]), batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            det += stats["det"]
            ids += stats["id"]
        n = len(loader)
        s = f"{self.loss.s_det.item():.3f} {self.loss.s_id.item():.3f}"
        print(f"epoch {epoch}: det {det / n:.4f}, id {ids / n:.4f}, uncertainties {s}")


persons = torch.randn(12, 24)
ids = torch.randint(0, 12, (768,))
x = persons[ids] + 0.8 * torch.randn(768, 24)
wh = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], 1)
hm = (x[:, 3] > 0).float()
loader = [{"input": x[i], "ids": ids[i], "wh": wh[i], "hm": hm[i]} for i in torch.randperm(768).split(48)]

model = Backbone()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
trainer = MotTrainer(model, optimizer, n_id=12)
for epoch in range(12):
    trainer.train(epoch, loader)
