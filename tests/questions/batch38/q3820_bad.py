import torch
import torch.nn as nn
import torch.nn.functional as F

FREEZE_PARAM = True


class FashionNet(nn.Module):
    def __init__(self, n_category=8, emb_size=16, freeze_param=False):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        if freeze_param:
            for param in self.backbone.parameters():
                param.requires_grad = False
        self.emb = nn.Linear(8, emb_size)
        self.cls = nn.Linear(emb_size, n_category)

    def forward(self, x):
        e = self.emb(self.backbone(x).flatten(1))
        return self.cls(torch.relu(e)), e


def make_items(n, motifs):
    cat = torch.randint(0, 8, (n,))
    img = 0.5 * torch.randn(n, 3, 12, 12)
    for k in range(n):
        for _ in range(4):
            r, c = torch.randint(0, 10, (2,)).tolist()
            img[k, :, r:r + 3, c:c + 3] += motifs[cat[k]][:, :12 - r, :12 - c]
    return img, cat


torch.manual_seed(0)
motifs = torch.randn(8, 3, 3, 3) * 1.2
motifs = motifs - motifs.mean(dim=(2, 3), keepdim=True)
x, y = make_items(600, motifs)
vx, vy = make_items(200, motifs)
model = FashionNet(freeze_param=FREEZE_PARAM)
train_params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(train_params, lr=1e-2)
for epoch in range(15):
    total = 0.0
    for idx in torch.randperm(600).split(50):
        logits, _ = model(x[idx])
        loss = F.cross_entropy(logits, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (model(vx)[0].argmax(1) == vy).float().mean().item()
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {total / 12:.4f} category acc {acc:.3f}")
