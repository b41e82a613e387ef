import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


class CLIP(nn.Module):
    def __init__(self, embed_dim=32):
        super().__init__()
        self.visual = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, embed_dim))
        self.token_embedding = nn.EmbeddingBag(50, 64)
        self.text_projection = nn.Linear(64, embed_dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.5))

    def forward(self, image, text):
        image_features = F.normalize(self.visual(image), dim=1)
        text_features = F.normalize(self.text_projection(self.token_embedding(text)), dim=1)
        return self.logit_scale.exp() * image_features @ text_features.t()


render = torch.randn(50, 64)


def make_pairs(n):
    text = torch.randint(0, 50, (n, 4))
    image = render[text].sum(1) + 0.5 * torch.randn(n, 64)
    return image.view(n, 8, 8), text


def step(model, image, text):
    image_logits = model(image, text)
    ground_truth = torch.arange(len(image_logits))
    loss = (F.cross_entropy(image_logits, ground_truth) + F.cross_entropy(image_logits.t(), ground_truth)) / 2
    acc_i = (torch.argmax(image_logits) == ground_truth).sum()
    acc_t = (torch.argmax(image_logits.t()) == ground_truth).sum()
    return loss, (acc_i + acc_t) / 2 / len(image_logits)


model = CLIP()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
val = make_pairs(64)
for it in range(300):
    image, text = make_pairs(64)
    loss, acc = step(model, image, text)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 49:
        model.eval()
        with torch.no_grad():
            val_loss, val_acc = step(model, *val)
        model.train()
        print(f"step {it + 1} loss {loss.item():.4f} acc {acc.item():.3f}"
              f" val loss {val_loss.item():.4f} val acc {val_acc.item():.3f}")
