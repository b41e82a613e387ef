import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(81)


class LanguageGate(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.res_gate = nn.Sequential(
            nn.Linear(dim, dim, bias=False), nn.ReLU(), nn.Linear(dim, dim, bias=False), nn.Tanh()
        )
        nn.init.zeros_(self.res_gate[0].weight)
        nn.init.zeros_(self.res_gate[2].weight)

    def forward(self, x, fused):
        return x + self.res_gate(fused) * fused


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.vision = nn.Sequential(nn.Linear(dim, dim), nn.GELU())
        self.fusion = nn.Linear(2 * dim, dim)
        self.gate = LanguageGate(dim)

    def forward(self, x, language):
        x = x + self.vision(x)
        fused = torch.tanh(self.fusion(torch.cat([x, language], dim=1)))
        return self.gate(x, fused)


class ReferringNet(nn.Module):
    def __init__(self, vision_dim=12, words=4, dim=32):
        super().__init__()
        self.embed = nn.Linear(vision_dim, dim)
        self.words = nn.Embedding(words, dim)
        self.blocks = nn.ModuleList([Block(dim), Block(dim)])
        self.classifier = nn.Linear(dim, 1)

    def forward(self, image, word):
        x, language = self.embed(image), self.words(word)
        for block in self.blocks:
            x = block(x, language)
        return self.classifier(x).squeeze(1)


def make_batch(size=128):
    image = torch.randn(size, 12)
    word = torch.randint(0, 4, (size,))
    return image, word, (image[torch.arange(size), word] > 0).float()


model = ReferringNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(400):
    image, word, target = make_batch()
    logits = model(image, word)
    loss = F.binary_cross_entropy_with_logits(logits, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0 or step == 399:
        accuracy = ((logits > 0).float() == target).float().mean().item()
        print(f"step {step}: loss {loss.item():.4f} accuracy {accuracy:.3f}")
