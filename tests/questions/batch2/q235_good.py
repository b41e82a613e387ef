import torch
import torch.nn as nn


class VisionTower(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 4, stride=4)
        self.position = nn.Parameter(torch.randn(1, 16, dim))
        self.block = nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True)

    def forward(self, images):
        patches = self.patch_embed(images).flatten(2).transpose(1, 2)
        return self.block(patches + self.position)


class TinyLlava(nn.Module):
    def __init__(self, vocab=12, dim=32):
        super().__init__()
        self.vision_tower = VisionTower()
        self.mm_projector = nn.Sequential(nn.Linear(24, dim), nn.GELU(), nn.Linear(dim, dim))
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.decoder = nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, images, prompt):
        tokens = torch.cat([self.mm_projector(self.vision_tower(images)), self.embed_tokens(prompt)], dim=1)
        return self.lm_head(self.decoder(tokens)[:, -1])


def make_optimizer(model, args):
    model.requires_grad_(True)
    model.vision_tower.requires_grad_(args["tune_vision_tower"])
    model.embed_tokens.requires_grad_(args["tune_embed_tokens"])
    groups = [
        {"params": [p for n, p in model.named_parameters() if p.requires_grad and "vision_tower" not in n]},
        {"params": [p for p in model.vision_tower.parameters() if p.requires_grad], "lr": args["vision_lr"]},
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=args["lr"], weight_decay=0.0)


def batch(n=32):
    answer = torch.randint(0, 4, (n,))
    images = 0.3 * torch.rand(n, 3, 16, 16)
    for i, a in enumerate(answer.tolist()):
        images[i, :, 8 * (a // 2) : 8 * (a // 2) + 8, 8 * (a % 2) : 8 * (a % 2) + 8] += 1.0
    return images, torch.full((n, 2), 11), answer


torch.manual_seed(0)
args = {"tune_vision_tower": True, "tune_embed_tokens": False, "lr": 1e-3, "vision_lr": 1e-3}
model = TinyLlava()
optimizer = make_optimizer(model, args)
before = model.vision_tower.patch_embed.weight.detach().clone()
for step in range(120):
    images, prompt, answer = batch()
    loss = nn.functional.cross_entropy(model(images, prompt), answer)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        moved = (model.vision_tower.patch_embed.weight - before).abs().max().item()
        print(f"step {step} loss {loss.item():.4f} vision tower moved by {moved:.5f}")
