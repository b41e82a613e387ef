import torch
import torch.nn as nn
import torch.nn.functional as F

CONTEXT, VOCAB, SOT, EOT = 16, 40, 38, 39


class SimpleTokenizer:
    """Words to ids; the rest of the context is filled with zeros."""

    def __call__(self, captions):
        result = torch.zeros(len(captions), CONTEXT, dtype=torch.long)
        for i, words in enumerate(captions):
            ids = [SOT, *words, EOT][:CONTEXT]
            result[i, : len(ids)] = torch.tensor(ids)
        return result


class CoCaLoss(nn.Module):
    def __init__(self, caption_loss_weight, clip_loss_weight, pad_id=-100):
        super().__init__()
        self.caption_loss_weight = caption_loss_weight
        self.clip_loss_weight = clip_loss_weight
        self.caption_loss = nn.CrossEntropyLoss(ignore_index=pad_id)

    def forward(self, image_features, text_features, logits, labels, logit_scale):
        sim = logit_scale * image_features @ text_features.t()
        ground_truth = torch.arange(len(sim))
        clip_loss = (F.cross_entropy(sim, ground_truth) + F.cross_entropy(sim.t(), ground_truth)) / 2
        caption_loss = self.caption_loss(logits.permute(0, 2, 1), labels)
        return self.clip_loss_weight * clip_loss, self.caption_loss_weight * caption_loss


class CoCaLike(nn.Module):
    def __init__(self, img_dim=24, dim=32):
        super().__init__()
        self.visual = nn.Sequential(nn.Linear(img_dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.token_embedding = nn.Embedding(VOCAB, dim)
        self.text = nn.GRU(dim, dim, batch_first=True)
        self.text_decoder = nn.GRU(2 * dim, dim, batch_first=True)
        self.to_logits = nn.Linear(dim, VOCAB)
        self.logit_scale = nn.Parameter(torch.tensor(2.3))

    def forward(self, image, text):
        img = self.visual(image)
        tokens = text[:, :-1]
        emb = self.token_embedding(tokens)
        hidden, _ = self.text(emb)
        last = (text == EOT).int().argmax(dim=1).clamp(max=tokens.shape[1] - 1)
        txt = hidden[torch.arange(len(text)), last]
        fused = torch.cat([hidden, img.unsqueeze(1).expand(-1, hidden.shape[1], -1)], dim=2)
        logits = self.to_logits(self.text_decoder(fused)[0])
        return F.normalize(img, dim=1), F.normalize(txt, dim=1), logits, text[:, 1:], self.logit_scale.exp()


class Pairs:
    def __init__(self, n_concepts=12, img_dim=24):
        self.images = torch.randn(n_concepts, img_dim)

    def batch(self, n):
        concept = torch.randint(0, len(self.images), (n,))
        captions = []
        for c in concept.tolist():
            length = int(torch.randint(2, 7, (1,)))
            captions.append([1 + (c * 3 + k) % 36 for k in range(length)])
        return self.images[concept] + 0.3 * torch.randn(n, self.images.shape[1]), captions


torch.manual_seed(22)
tokenize, data = SimpleTokenizer(), Pairs()
model, criterion = CoCaLike(), CoCaLoss(caption_loss_weight=2.0, clip_loss_weight=1.0)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(1, 151):
    images, captions = data.batch(48)
    texts = tokenize(captions)
    out = model(images, texts)
    contrastive, caption = criterion(*out)
    total = contrastive + caption
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    if step % 30 == 0:
        words = out[3] != 0
        acc = (out[2].argmax(-1) == out[3])[words].float().mean().item()
        print(
            f"step {step}: contrastive {contrastive.item():.3f}  caption {caption.item():.3f}  word acc {acc:.3f}"
        )
