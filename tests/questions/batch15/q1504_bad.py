import torch
import torch.nn as nn
import torch.nn.functional as F


class ViT(nn.Module):
    def __init__(self, patch_dim=12, num_patches=16, dim=32, depth=2):
        super().__init__()
        self.to_patch_embedding = nn.Linear(patch_dim, dim)
        self.pos_embedding = nn.Parameter(0.02 * torch.randn(1, num_patches, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.transformer = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.mlp_head = nn.Linear(dim, 10)

    def forward(self, patches):
        x = self.transformer(self.to_patch_embedding(patches) + self.pos_embedding)
        return self.mlp_head(x.mean(dim=1))


class Extractor(nn.Module):
    def __init__(self, vit):
        super().__init__()
        self.vit = vit
        self.latents = None
        self.vit.transformer.register_forward_hook(self._hook)

    def _hook(self, _, inputs, output):
        self.latents = output.clone().detach()

    def forward(self, img):
        self.vit(img)
        return self.latents


class CoCa(nn.Module):
    def __init__(self, img_encoder, num_tokens=12, dim=32):
        super().__init__()
        self.img_encoder = img_encoder
        self.img_query = nn.Parameter(0.1 * torch.randn(1, 1, dim))
        self.img_attn_pool = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.to_txt = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.cross_attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.to_logits = nn.Linear(dim, num_tokens)
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, text, images):
        tokens = self.img_encoder(images)
        img, _ = self.img_attn_pool(self.img_query.expand(len(images), -1, -1), tokens, tokens)
        emb = self.token_emb(text)
        txt = self.to_txt(emb.mean(dim=1))
        sim = F.normalize(txt, dim=-1) @ F.normalize(img[:, 0], dim=-1).T * self.temperature.exp()
        target = torch.arange(len(text))
        contrastive = (F.cross_entropy(sim, target) + F.cross_entropy(sim.T, target)) / 2
        attended, _ = self.cross_attn(emb[:, :-1], tokens, tokens)
        logits = self.to_logits(emb[:, :-1] + attended)
        caption = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        return contrastive, caption, (sim.argmax(1) == target).float().mean()


def make_batch(n, signs):
    ids = torch.randint(1, 12, (n, 3))
    text = torch.cat([torch.zeros(n, 1, dtype=torch.long), ids], dim=1)
    where = torch.rand(n, 16).argsort(dim=1)
    images = 0.5 * torch.randn(n, 16, 12)
    for i in range(3):
        images[torch.arange(n), where[:, i]] += signs[ids[:, i], i]
    return text, images


def main():
    torch.manual_seed(0)
    signs = torch.randn(12, 3, 12)
    vit = ViT()
    coca = CoCa(Extractor(vit))
    before = [p.clone() for p in vit.transformer.parameters()]
    optimizer = torch.optim.Adam(coca.parameters(), lr=3e-3)
    for step in range(301):
        contrastive, caption, top1 = coca(*make_batch(48, signs))
        optimizer.zero_grad()
        (contrastive + caption).backward()
        optimizer.step()
        if step % 60 == 0:
            moved = sum((p - b).norm() for p, b in zip(vit.transformer.parameters(), before)).item()
            print(
                f"step {step:3d}: contrastive {contrastive.item():.3f}  caption {caption.item():.3f}  "
                f"retrieval {top1.item():.3f}  image encoder moved {moved:.3f}"
            )


if __name__ == "__main__":
    main()
