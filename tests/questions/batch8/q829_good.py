import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

TEXT, IMAGE, TEXT_LEN, IMAGE_LEN = 24, 12, 10, 6


class DALLE(nn.Module):
    def __init__(self, dim=48, ignore_index=0):
        super().__init__()
        self.ignore_index = ignore_index
        self.embed = nn.Embedding(TEXT + IMAGE, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.to_logits = nn.Linear(dim, TEXT + IMAGE)

    def forward(self, text, image=None, return_loss=False):
        tokens = text if image is None else torch.cat((text, image + TEXT), dim=1)
        logits = self.to_logits(self.gru(self.embed(tokens[:, :-1] if return_loss else tokens))[0])
        if not return_loss:
            return logits
        labels = tokens[:, 1:]
        return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=self.ignore_index)


def make_pairs(follow, n=64):
    text = torch.zeros(n, TEXT_LEN, dtype=torch.long)
    text[:, 0] = torch.randint(1, TEXT, (n,))
    for place in range(1, TEXT_LEN):
        text[:, place] = follow[text[:, place - 1], torch.randint(0, 5, (n,))]
    length = torch.randint(1, 4, (n, 1))
    subject = text[:, :1]
    text = text.masked_fill(torch.arange(TEXT_LEN) >= length, 0)
    image = (subject + 3 * torch.arange(IMAGE_LEN)) % IMAGE
    return text, image


def next_words(model, follow, n=500):
    start = torch.randint(1, TEXT, (n,))
    with torch.no_grad():
        guess = model(start.unsqueeze(1))[:, -1, :TEXT].argmax(1)
    return (follow[start] == guess.unsqueeze(1)).any(1).float().mean().item(), (
        guess == 0
    ).float().mean().item()


def main():
    follow = torch.randint(1, TEXT, (TEXT, 5))
    model = DALLE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(1, 301):
        text, image = make_pairs(follow)
        loss = model(text, image, return_loss=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            fits, padding = next_words(model, follow)
            print(
                f"step {step}: loss {loss.item():.3f}, next word fits in {fits:.2f}, is padding in {padding:.2f}"
            )


if __name__ == "__main__":
    main()
